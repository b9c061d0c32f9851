"""The whole service on a real port: what clients get, what is counted, what is logged."""

import http.client
import json
import socket
from collections.abc import Iterator

import pytest

from limelight.serving.app import App
from limelight.serving.call import Route
from limelight.serving.keys import Key, Keys, digest
from limelight.serving.limits import Limits
from limelight.serving.openapi import APIS
from tests.serving.helpers import Running, running, table, translator, wait_until
from tests.serving.test_documents import multipart

SECRET_TEXT = "cabbagehead"


@pytest.fixture(scope="module")
def plain_service() -> Iterator[Running]:
    models = {
        "one": translator(table(1)),
        "two": translator(table(2), "en", "fr"),
        "back": translator(table(3), "de", "en"),
    }
    with running(models) as service:
        yield service


def message_of(value: dict) -> str:
    """Where each dialect says what is wrong; always a string."""
    error = value.get("message") or value.get("error")
    found = error["message"] if isinstance(error, dict) else error
    assert isinstance(found, str)
    return found


# ---- keys


@pytest.fixture(scope="module")
def guarded_service() -> Iterator[Running]:
    keys = Keys([Key("alice", digest("secret-of-alice"), "")])
    with running({"one": translator(table(1))}, keys=keys) as service:
        yield service


PUBLIC = {"/health", "/api/v1/health/live", "/api/v1/health/ready", "/", "/page/{name}", "/download_file/{name}"}
PUBLIC |= {"/languages", "/spec"}
"""Probes, the page's own files (what it asks for needs a key), documents by a name that cannot be guessed, and what
LibreTranslate's clients ask without a key."""


ROUTES = [route for api in APIS for route in api.routes]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_every_route_but_probes_needs_a_key(guarded_service: Running, route: Route) -> None:
    path = route.path.replace("{id}", "some-id")
    answer = guarded_service.send(route.method, path, {} if route.method == "POST" else None)
    assert (answer.status in (401, 403)) is (route.path not in PUBLIC)
    assert route.public is (route.path in PUBLIC)
    wrong = guarded_service.send(route.method, path, None, {"Authorization": "Bearer guess"})
    assert (wrong.status in (401, 403)) is (route.path not in PUBLIC)


@pytest.mark.parametrize(
    "path",
    ["//v2/usage", "/V2/USAGE", "/v2/usage/", "/v2/%75sage", "/v2/./usage", "/v2/x/../usage", "/v2/usage?x", "/nothing",
     "/v2/usage;a=b", "/%2e%2e/v2/usage", "http://127.0.0.1/v2/usage", "/health/../v2/usage", "/v2/usage%00", "*"],
)  # fmt: skip
def test_no_spelling_of_a_path_goes_around_the_key(guarded_service: Running, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", guarded_service.port, timeout=600)
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", "health")
    connection.endheaders()
    response = connection.getresponse()
    assert response.status in (400, 401, 403)
    assert b"character_count" not in response.read()
    connection.close()


def test_keys_come_as_each_dialect_sends_them(guarded_service: Running) -> None:
    secret = "secret-of-alice"
    translated = {"text": ["dab"], "target_lang": "DE"}
    assert guarded_service.post("/v2/translate", translated, Authorization=f"DeepL-Auth-Key {secret}").status == 200
    assert guarded_service.post("/api/v1/translate", {"text": "a"}, Authorization=f"Bearer {secret}").status == 200
    assert guarded_service.get(f"/v1/models?={secret}").status == 401, "a field without a name"
    libre = {"q": "dab", "source": "en", "target": "de"}
    assert guarded_service.post("/translate", {**libre, "api_key": secret}).status == 200
    assert guarded_service.post("/translate", {**libre, "api_key": "guess"}).status == 403
    assert guarded_service.post("/translate", {**libre, "api_key": ["a"]}).status == 403
    assert guarded_service.post("/translate", libre).status == 403
    assert guarded_service.post("/v2/translate", {**translated, "api_key": secret}).status == 403
    assert guarded_service.post(f"/v2/translate?auth_key={secret}", translated).status == 200
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert guarded_service.post("/v2/translate", f"text=dab&target_lang=DE&auth_key={secret}", **form).status == 200
    guess = "text=dab&target_lang=DE&auth_key=guess"
    assert guarded_service.post("/v2/translate", guess, **form).status == 403
    assert guarded_service.post(f"/v2/translate?auth_key=guess&{guess}&auth_key={secret}", None).status == 403
    body, boundary = multipart(b"dab", "a.pdf", {**libre, "api_key": secret})
    multi = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    assert guarded_service.post("/translate_file", body, **multi).status == 415
    assert guarded_service.post("/translate_file", body.replace(secret.encode(), b"guess"), **multi).status == 403
    assert guarded_service.get("/omegat?source=en&target=de&text=dab").status == 403
    assert guarded_service.get(f"/omegat?source=en&target=de&text=dab&api_key={secret}").status == 200


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api/v1/translate", "application/json"),
        ("/translate?api_key=guess", "application/json"),
        ("/v2/document?auth_key=guess", "multipart/form-data; boundary=x"),
    ],
)
def test_a_key_that_cannot_come_with_the_body_is_not_waited_for(guarded_service: Running, path: str, kind: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", guarded_service.port, timeout=600)
    connection.putrequest("POST", path)
    connection.putheader("Content-Type", kind)
    connection.putheader("Content-Length", "1000")
    connection.endheaders(b"{")
    assert connection.getresponse().status in (401, 403)
    connection.close()


def test_neither_text_nor_key_is_in_log_or_metrics(guarded_service: Running) -> None:
    secret = "secret-of-alice"
    body = {"q": SECRET_TEXT, "source": "en", "target": "de", "api_key": secret}
    assert guarded_service.post("/translate", body).status == 200
    query = f"/translate?q={SECRET_TEXT}&source=en&target=xx&api_key={secret}"
    assert guarded_service.send("POST", query).status == 400
    metrics = guarded_service.get("/metrics", Authorization=f"Bearer {secret}").value.decode()
    for told in (guarded_service.log.getvalue(), metrics):
        assert "translate" in told
        for private in (SECRET_TEXT, secret, "alice", "127.0.0.1"):
            assert private not in told


# ---- faults


def test_a_fault_of_ours_is_500_without_a_word_about_it(
    plain_service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError(f"{SECRET_TEXT} in /usr/lib/python/torch")

    monkeypatch.setattr(App, "_handled", broken)
    for path in ("/v2/usage", "/languages", "/api/v1/models"):
        answer = plain_service.get(path)
        assert answer.status == 500
        assert "torch" not in str(answer.value)
        assert SECRET_TEXT not in str(answer.value)
    faults = [line for line in plain_service.lines() if line["event"] == "fault"]
    assert {line["kind"] for line in faults} == {"RuntimeError"}
    assert SECRET_TEXT not in json.dumps(faults)
    wait_until(lambda: plain_service.counts()["failed"] >= 3)


def test_what_there_is_not_is_refused_in_the_dialect_it_looks_like(plain_service: Running) -> None:
    assert plain_service.get("/v2/nothing").value["message"]
    assert plain_service.get("/api/v1/nothing").value["error"]["code"] == "not_found"
    assert isinstance(plain_service.get("/nothing").value["error"], str)
    assert plain_service.get("/translate").status == 405


def test_bytes_that_are_no_http_and_long_headers_are_refused(plain_service: Running) -> None:
    for noise in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/x\r\n\r\n",
        b"GET / HTTP/1.1\r\nA" + b"a" * 20_000,
        b"GET /health?" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"A: %s\r\n" % (b"b" * 100) * 200 + b"\r\n",
    ):
        with socket.create_connection(("127.0.0.1", plain_service.port), timeout=600) as connection:
            connection.sendall(noise)
            assert connection.recv(100).startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))


def test_headers_have_to_come_in_time() -> None:
    with running({"one": translator(table(1))}, limits=Limits(header_seconds=2.0, body_seconds=2.0)) as service:
        with socket.create_connection(("127.0.0.1", service.port), timeout=600) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHo")
            assert connection.recv(100) == b"", "the connection is closed"
        with socket.create_connection(("127.0.0.1", service.port), timeout=600) as connection:
            connection.sendall(b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
            assert b" 408 " in connection.recv(100)
        assert service.get("/health").status == 200


def test_readiness_is_no_while_a_model_loads_and_when_it_ends(plain_service: Running) -> None:
    assert plain_service.get("/api/v1/health/ready").status == 200
    pool = plain_service.service.catalog.models[0].pool
    engine = pool._engines[0]
    engine.ready, pool.trouble = False, "it cannot be loaded"
    assert plain_service.get("/api/v1/health/ready").status == 503
    assert plain_service.get("/api/v1/health/live").status == 200
    answer = plain_service.post("/v2/translate", {"text": "a", "target_lang": "DE"})
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")
    assert plain_service.post("/v2/translate", {"text": "a", "target_lang": "FR"}).status == 200, "the others are up"
    engine.ready, pool.trouble = True, ""
    plain_service.service.draining = True
    assert plain_service.get("/api/v1/health/ready").status == 503
    plain_service.service.draining = False
