"""The page's routes: its files with their policy, and answers that equal those of Python."""

import asyncio
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from limelight.pipelines.explain import Explanation, Question, explain, explained_page
from limelight.serving.keys import Key, Keys, digest
from limelight.serving.page import POLICY, first
from limelight.storage.layout import DEFAULT
from tests.browser.helpers import untrained
from tests.pipelines.test_explain import SCHEMA
from tests.serving.helpers import Running, running

ASKED = {"text": "abcde", "source_lang": "en", "target_lang": "de"}
PLACE = {"kind": "decoder_self", "layer": 1, "head": 2}


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": untrained()}) as found:
        yield found


def plain(value: object) -> object:
    return json.loads(json.dumps(value))


def test_every_file_is_served_with_the_policy(service: Running) -> None:
    frame = service.get("/")
    assert (frame.status, frame.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b'src="page/main.js"' in frame.value
    for path in files("limelight.page").iterdir():
        if path.name.endswith((".js", ".css")):
            answer = service.get(f"/page/{path.name}")
            assert answer.status == 200
            assert answer.value == path.read_bytes()
            assert answer.headers["Content-Security-Policy".lower()] == POLICY
            assert answer.headers["content-type"].startswith(("text/javascript", "text/css"))
    assert "unsafe" not in POLICY


@pytest.mark.parametrize("path", ["/page/index.html", "/page/..%2frun.py", "/page/none.js"])
def test_nothing_else_is(service: Running, path: str) -> None:
    assert service.get(path).status == 404


def test_answers_are_those_of_python(service: Running) -> None:
    one, question = untrained(), Question("abcde", "en", "de")
    document = service.post("/api/v1/page/explain", ASKED)
    assert document.value == plain({"format": 1, "document": explain(one, question)})
    target = document.value["document"]["translation"]["ids"]
    off = {"decoder.0.cross": [1]}
    explained = Explanation(one, Question("abcde", "en", "de", target=tuple(target), off=off))
    asked, lines = {**ASKED, "target": target, "off": off}, {"layer": 1, "word": 2, "lines": ["cba", " ", "edc"]}
    for name, more, key, expected in (
        ("head", PLACE, "matrix", explained.head(*PLACE.values())),
        ("look_up", {**PLACE, "row": 2}, "look_up", explained.look_up(*PLACE.values(), 2)),
        ("measures", {}, "measures", explained.measures()),
        ("layers", {}, "layers", explained.layers()),
        ("map", {}, "map", explained.map()),
        ("inside", {"side": "decoder", "layer": 1, "place": 2}, "inside", explained.inside("decoder", 1, 2)),
        ("distribution", {"row": 2}, "log_probabilities", explained.distribution(2)),
        ("similar", lines, "similar", explained.similar(**lines)),
    ):
        assert service.post(f"/api/v1/page/{name}", {**asked, **more}).value == plain({"format": 1, key: expected})
    refused = service.post("/api/v1/page/similar", {**asked, **lines, "lines": [ASKED["text"]]})
    assert (refused.status, "paste some, one a line" in refused.value["error"]["message"]) == (400, True)
    page = service.post("/api/v1/page/file", {**ASKED, "theme": "light"})
    assert page.value.decode() == explained_page(one, question, theme="light")
    assert page.headers["content-disposition"].startswith("attachment")


def document_of(answer: object) -> dict:
    (data,) = re.findall('<script type="application/json" id="document">(.*?)</script>', answer.value.decode())
    return json.loads(data)


def test_a_file_keeps_what_was_open_and_what_was_changed(service: Running) -> None:
    plain = service.post("/api/v1/page/explain", ASKED).value["document"]["translation"]
    asked = {**ASKED, "off": {"decoder.1.cross": [0]}, "forced": "ca", "state": "view=whatif"}
    document = document_of(service.post("/api/v1/page/file", asked))
    assert document["state"] == "view=whatif"
    assert (document["before"]["ids"], document["before"]["off"]) == (plain["ids"], {})
    assert document["before"]["log_probability"] == pytest.approx(plain["log_probability"], abs=1e-5)
    assert document["translation"]["prefix"] == untrained().tokenizers.target.encode("ca")
    assert "before" not in document_of(service.post("/api/v1/page/file", ASKED))


@pytest.mark.parametrize(
    ("changed", "status", "message"),
    [
        ({"text": ""}, 400, "text"),
        ({"text": "a" * 2001}, 400, "text"),
        ({"text": "a" * 300}, 400, "at most 200 are explained"),
        ({"prefix": [-1]}, 400, "prefix"),
        ({"prefix": [0] * 2000}, 400, "prefix"),
        ({"model": "none"}, 404, "no model of this name"),
        ({"sampling": {}}, 400, "sampling"),
    ],
)
def test_mistakes_are_told(service: Running, changed: dict, status: int, message: str) -> None:
    answer = service.post("/api/v1/page/explain", {**ASKED, **changed})
    assert answer.status == status
    assert message in answer.value["error"]["message"]


def test_the_page_is_public_and_what_it_asks_needs_the_key() -> None:
    keys = Keys([Key("visitor", digest("secret"), "")])
    with running({"one": untrained()}, keys=keys) as service:
        assert service.get("/").status == 200
        assert service.get("/page/main.js").status == 200
        refused = service.post("/api/v1/page/explain", ASKED)
        assert (refused.status, refused.value["error"]["code"]) == (401, "no_key")
        assert service.post("/api/v1/page/explain", ASKED, Authorization="Bearer secret").status == 200


def test_a_stored_answer_is_that_of_the_folder_and_no_link_out_of_it(tmp_path: Path) -> None:
    model = SimpleNamespace(folder=str(tmp_path))
    call: Any = SimpleNamespace(service=SimpleNamespace(catalog=SimpleNamespace(models=[model])))
    assert asyncio.run(first(call)).body == b"null"
    run, secret = tmp_path / DEFAULT, tmp_path / "secret"  # the name of a bundled model, and not that model
    secret.write_text('"secret"', encoding="utf-8")
    (run / "best").mkdir(parents=True)
    for name in ("config.yaml", "model.safetensors"):
        (run / "best" / name).write_text("", encoding="utf-8")
    model.folder = str(run)
    assert asyncio.run(first(call)).body == b"null"
    stored = run / "best" / "first-look.json"
    stored.symlink_to(secret)
    assert asyncio.run(first(call)).body == b"null"
    stored.unlink()
    stored.write_text("{}", encoding="utf-8")
    assert asyncio.run(first(call)).body == b"{}"
    model.folder = DEFAULT
    jsonschema.validate(json.loads(asyncio.run(first(call)).body), SCHEMA)
