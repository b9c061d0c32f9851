"""A service without keys answers to its own names, and not to the pages of other sites."""

import json

import pytest

from limelight.serving.keys import Key, Keys, digest
from limelight.serving.origin import Origins
from limelight.serving.refusal import Refusal
from tests.serving.helpers import running, table, translator

BODY = json.dumps({"text": "dab", "target_lang": "de"})
EVIL = {"Origin": "https://evil.example"}


def test_a_page_of_another_site_changes_and_reads_nothing() -> None:
    with running({"one": translator(table(1))}) as service:
        own = {"Origin": service.url, "Sec-Fetch-Site": "same-origin"}
        for headers, status in (
            ({}, 200),
            (own, 200),
            (EVIL, 403),  # without Content-Type, as a Blob is sent: no preflight
            ({"Origin": "null"}, 403),
            ({"Origin": "http://[::1"}, 403),
            ({"Sec-Fetch-Site": "cross-site"}, 403),
            ({"Origin": "chrome-extension://abcdef"}, 200),
            ({"Host": "evil.example"}, 403),
            ({"Host": f"evil.example:{service.port}", "Origin": f"http://evil.example:{service.port}"}, 403),
        ):
            assert service.send("POST", "/api/v1/translate", BODY, headers).status == status, headers
        form = {"Content-Type": "application/x-www-form-urlencoded", **EVIL}
        assert service.send("POST", "/v2/glossaries", "name=a", form).status == 403
        for path in ("/v2/glossaries", "/metrics", "/api/v1/health/live", "/", "/nothing"):
            assert service.send("GET", path, None, {"Host": "evil.example"}).status == 403, path
        answer = service.send("POST", "/v2/translate", BODY, {"Host": "evil.example"})
        assert "--allowed-host" in answer.value["message"]


def test_pages_that_are_named_may_call_it() -> None:
    with running({"one": translator(table(1))}, cors=["https://evil.example"]) as service:
        assert service.send("POST", "/api/v1/translate", BODY, EVIL).status == 200
        other = {"Origin": "https://other.example"}
        assert service.send("POST", "/api/v1/translate", BODY, other).status == 403
        preflight = {**EVIL, "Access-Control-Request-Method": "POST",
                     "Access-Control-Request-Headers": "authorization,content-type,x-stainless-lang"}  # fmt: skip
        assert service.send("OPTIONS", "/v1/chat/completions", None, preflight).status == 200


def test_with_keys_any_name_will_do() -> None:
    keys = Keys([Key("one", digest("secret"), "")])
    with running({"one": translator(table(1))}, keys=keys) as service:
        headers = {**EVIL, "Host": "translate.example", "Authorization": "Bearer secret"}
        assert service.send("POST", "/api/v1/translate", BODY, headers).status == 200


@pytest.mark.parametrize(
    ("host", "good"),
    [
        ("", True), ("localhost:8000", True), ("a.localhost", True), ("127.0.0.1", True), ("[::1]:8000", True),
        ("192.168.1.5:8000", True), ("Box.example.", True), ("other.example", False), ("127.0.0.1.evil.example", False),
        ("[evil", False), ("port.example:8080", True), ("port.example:80", False),
    ],
)  # fmt: skip
def test_names_of_a_service(host: str, good: bool) -> None:
    origins = Origins(("box.example", "127.0.0.1", "port.example:8080"))
    if good:
        origins.require("GET", {"host": host})
    else:
        with pytest.raises(Refusal) as caught:
            origins.require("GET", {"host": host})
        assert (caught.value.status, caught.value.code) == (403, "host")
    Origins(("*",)).require("GET", {"host": host})
