"""The documentation that the service hands out, and the copy of it in docs/schema."""

import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jsonschema
import pytest

from limelight.serving.dialects.answers import Translated
from limelight.serving.openapi import openapi_document, openapi_page
from limelight.serving.routes import APIS, ROUTES
from tests.browser.helpers import untrained
from tests.serving.described import FORM, document, require_described, require_request_described
from tests.serving.helpers import Answered, Running, carrying, running, table, translator, wait_until

FILE = Path(__file__).parents[2] / "docs" / "schema" / "api-1.json"


def test_every_route_is_described() -> None:
    document = openapi_document(APIS)
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in APIS}
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    assert all(operation["summary"] for operation in operations)
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)


def test_every_route_has_schemas_of_its_request_and_its_answer() -> None:
    """A body has a form, and an answer a media type and a schema, unless it is empty."""
    document = openapi_document(ROUTES)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            answers = [each for status, each in operation["responses"].items() if status in ("200", "201")]
            schemas = [content["schema"] for each in answers for content in each["content"].values()]
            assert all(schemas), f"{method} {path}"
            assert schemas or "204" in operation["responses"], f"{method} {path}"
            assert "requestBody" in operation or method not in ("post", "put", "patch") or path == "/v2/usage"
    assert all(route.handler.__doc__ != f"`{route.method} {route.path}`." for route in ROUTES)


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from ([value["$ref"]] if isinstance(value.get("$ref"), str) else ())
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from references(each)


def test_every_part_that_is_referred_to_is_there() -> None:
    document = openapi_document(ROUTES)
    found = set(references(document))
    assert found
    for each in found:
        part: Any = document
        for name in each.removeprefix("#/").split("/"):
            part = part[name]
    for each in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(each)


TAGGED = {"text": "the <b>lamp</b> hums", "tag_handling": "html", "terms": [{"source": "lamp", "target": "Leuchte"}]}
PAIR = {"source_lang": "en", "target_lang": "de"}
ENTRIES = {**PAIR, "entries": "lamp\tLeuchte", "entries_format": "tsv"}
HEAD = {**PAIR, "text": "abcde", "model": "seen", "target": [1, 2], "kind": "cross", "layer": 1, "head": 2}
MESSAGES = [{"role": "user", "content": "the lamp"}]
ELSEWHERE = {"/api/v1/page/snapshots", "/api/v1/page/write", "/api/v1/page/fill", "/api/v1/page/text_head",
             "/suggest"}  # fmt: skip
"""Asked in test_snapshots.py, whose models write and fill in; and what is always refused."""


def requests(service: Running) -> Iterator[tuple[str, str, Any]]:
    """Requests of every route, such as get an answer. What later ones need of earlier answers is asked for again."""
    for route in ROUTES:
        if "{" not in route.path and route.method == "GET":
            yield "GET", f"{route.path}?source=en&target=de&text=a" if route.path == "/omegat" else route.path, None
    for text in ({"text": ["the lamp hums. Here!", ""], "n_best": 2}, TAGGED, {"text": "a", "sampling": {"seed": 1}}):
        yield "POST", "/api/v1/translate", {**text, "model": "one"}
    for name in ("attention", "steps", "beam"):
        yield "POST", f"/api/v1/{name}", {**PAIR, "text": "abcde", "model": "seen"}
    yield "POST", "/api/v1/beam", {**PAIR, "text": "abcde", "model": "seen", "target": "ab"}
    place = {key: value for key, value in HEAD.items() if key not in ("kind", "layer", "head")}
    yield from [("POST", f"/api/v1/page/{name}", place) for name in ("explain", "file")]
    yield "POST", "/api/v1/page/head", HEAD
    yield "POST", "/api/v1/page/look_up", {**HEAD, "row": 1}
    yield from [("POST", f"/api/v1/page/{name}", {**place, "target": [5, 6]}) for name in ("measures", "layers")]
    yield "POST", "/api/v1/page/patch", {**place, "text": "ab", "other": "cd", "target": None}
    yield "GET", "/page/main.js", None
    counted = {"show_billed_characters": True, "model_type": "latency_optimized"}
    yield "POST", "/v2/translate", {"text": ["the lamp"], "target_lang": "DE", **counted}
    yield from [("POST", "/v2/languages", {"type": "target"}), ("POST", "/v2/usage", {})]
    yield "POST", "/translate", {"q": "the lamp", "source": "auto", "target": "de", "alternatives": 1}
    yield "POST", "/translate", {"q": ["the lamp", "a"], "source": "auto", "target": "de", "alternatives": 1}
    yield "POST", "/detect", {"q": "the lamp"}
    yield "POST", "/v1/chat/completions", {"model": "one", "messages": MESSAGES, "n": 2}
    yield "GET", "/v1/models/one", None
    yield from glossary_requests(service)
    yield from document_requests(service)
    memory = {"name": "a", "source_lang": "en", "target_lang": "de", "segments": [{"source": "a", "target": "b"}]}
    yield from [("POST", "/api/v1/memory", memory), ("GET", "/api/v1/memory", None)]
    yield "DELETE", f"/api/v1/memory/{service.post('/api/v1/memory', memory).value['id']}", None


def glossary_requests(service: Running) -> Iterator[tuple[str, str, Any]]:
    old = f"/v2/glossaries/{service.post('/v2/glossaries', {'name': 'a', **ENTRIES}).value['glossary_id']}"
    both = {"name": "b", "dictionaries": [ENTRIES, {**ENTRIES, "source_lang": "de", "target_lang": "en"}]}
    new = f"/v3/glossaries/{service.post('/v3/glossaries', both).value['glossary_id']}"
    yield from [("POST", "/v2/glossaries", {"name": "c", **ENTRIES}), ("POST", "/v3/glossaries", both)]
    yield from [("GET", path, None) for path in ("/v2/glossaries", "/v3/glossaries", old, new, f"{old}/entries")]
    yield "GET", f"{new}/entries?source_lang=en&target_lang=de", None
    yield "PATCH", new, {"name": "d"}
    yield "PUT", f"{new}/dictionaries", ENTRIES
    yield "DELETE", f"{new}/dictionaries?source_lang=en&target_lang=de", None
    yield from [("DELETE", old, None), ("DELETE", new, None)]


def document_requests(service: Running) -> Iterator[tuple[str, str, Any]]:
    yield "POST", "/v2/document", {"target_lang": "de"}
    yield "POST", "/translate_file", {"source": "en", "target": "de"}
    for name in ("", "/result"):
        sent = sent_document(service, "/v2/document", {"target_lang": "de"}).value
        path = f"/v2/document/{sent['document_id']}"
        key = {"document_key": sent["document_key"]}
        while service.post(path, key).value["status"] != "done":
            pass
        yield "POST", f"{path}{name}", key
    there = sent_document(service, "/translate_file", {"source": "en", "target": "de"}).value["translatedFileUrl"]
    yield "GET", there.removeprefix(service.url), None


def sent_document(service: Running, path: str, fields: dict[str, str]) -> Answered:
    parts = [f'name="{name}"\r\n\r\n{value}' for name, value in fields.items()]
    parts.append('name="file"; filename="a.txt"\r\n\r\nthe lamp')
    body = "".join(f"--x\r\nContent-Disposition: form-data; {part}\r\n" for part in parts) + "--x--\r\n"
    return service.post(path, body, **{"Content-Type": "multipart/form-data; boundary=x"})


def test_every_answer_is_as_it_is_described() -> None:
    """Of every route, all fields and no others. The fixture of this folder holds all other tests' answers to it."""
    asked = set()
    models = {"one": carrying(), "seen": untrained(), "back": carrying("de", "en")}
    with running(models) as service:
        for method, path, body in requests(service):
            sent = path in ("/v2/document", "/translate_file") and method == "POST"
            answer = sent_document(service, path, body) if sent else service.send(method, path, body)
            assert answer.status in (200, 201, 204), (method, path, answer)
            asked.add((method, require_described(method, path, answer)))
    assert asked == {(route.method, route.path) for route in ROUTES if route.path not in ELSEWHERE}


@pytest.mark.parametrize(
    ("path", "broken"),
    [
        ("/api/v1/steps", {"format": 1, "model": "a", "translation": {}, "steps": []}),
        ("/api/v1/models", {"format": 1, "models": [], "limits": {}, "more": 1}),
        ("/v2/usage", {"character_count": "1", "character_limit": 1}),
        ("/languages", [{"code": "en"}]),
    ],
)
def test_control_an_answer_that_is_not_as_described_is_seen(path: str, broken: Any) -> None:
    method = "GET" if path in ("/languages", "/v2/usage", "/api/v1/models") else "POST"
    with pytest.raises(jsonschema.ValidationError):
        require_described(method, path, Answered(200, broken, {"Content-Type": "application/json"}))
    with pytest.raises(AssertionError, match="418 is not described"):
        require_described(method, path, Answered(418, broken, {"Content-Type": "application/json"}))


FORMS = {
    "/v2/translate": {"text": ["the lamp", "a"], "target_lang": "DE", "tag_handling": "xml", "outline_detection": "0",
                      "splitting_tags": ["p", "q"], "show_billed_characters": "1"},
    "/v2/languages": {"type": "target"},
    "/v2/glossaries": {"name": "a", **ENTRIES},
    "/translate": {"q": ["the lamp", "a"], "source": "auto", "target": "de", "alternatives": 1, "api_key": "any"},
    "/detect": {"q": "the lamp"},
}  # fmt: skip
"""Of the fields of a request, as a form. A boolean is 0 or 1."""


def described_as(kind: str) -> set[str]:
    paths = document()["paths"]
    return {
        path
        for path, methods in paths.items()
        for operation in methods.values()
        if kind in operation.get("requestBody", {}).get("content", {})
    }


def test_a_form_is_described_and_has_the_answer_of_json() -> None:
    """Of every path that is described with one; the fixture of this folder holds both requests to the document."""
    form = {"Content-Type": FORM}
    with running({"one": carrying()}) as service:
        for path, fields in FORMS.items():
            as_form = service.post(path, urlencode(fields, doseq=True), **form)
            as_json = service.post(
                path, {key: bool(int(each)) if each in ("0", "1") else each for key, each in fields.items()}
            )
            assert (as_form.status, as_json.status) in ((200, 200), (201, 201)), as_form.value
            if path != "/v2/glossaries":  # which has an id of its own
                assert as_form.value == as_json.value
        identity = service.post("/v3/glossaries", {"name": "b", "dictionaries": [ENTRIES]}).value["glossary_id"]
        put = service.send("PUT", f"/v3/glossaries/{identity}/dictionaries", urlencode(ENTRIES), form)
        assert put.value["entry_count"] == 1
        sent = sent_document(service, "/v2/document", {"target_lang": "de"}).value
        for name in ("", "/result"):
            key, path = urlencode({"document_key": sent["document_key"]}), f"/v2/document/{sent['document_id']}{name}"
            wait_until(lambda path=path, key=key: service.post(path, key, **form).status == 200)
    tried = {*FORMS, "/suggest", "/v3/glossaries/{id}/dictionaries", "/v2/document/{id}", "/v2/document/{id}/result"}
    assert described_as(FORM) == tried
    assert described_as("multipart/form-data") == {"/v2/document", "/translate_file", "/api/v1/memory"}


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        ("/v2/translate", "text=a", FORM),  # without a target
        ("/v2/translate", "text=a&target_lang=de&outline_detection=no", FORM),
        ("/translate", "q=a&source=en&source=de&target=de", FORM),
        ("/translate", {"q": "a", "source": "en", "target": 1}, ""),
        ("/api/v1/translate", "text=a", FORM),
    ],
)
def test_control_a_request_that_is_not_as_described_is_seen(path: str, body: Any, kind: str) -> None:
    with pytest.raises((AssertionError, jsonschema.ValidationError)):
        require_request_described("POST", path, body, kind)


def test_answers_of_a_translation_are_those_of_the_type() -> None:
    """Where guards have found something, too."""
    asked = [{"text": ["dab. Face!", ""], "n_best": 2}, {"text": "dab", "prefix": "ca", "n_best": 2}, {"text": "I"}]
    seen = set()
    with running({"one": translator(table(1), beam_size=2)}) as service:
        answers = [service.post("/api/v1/translate", each).value for each in asked]
    for answer in answers:
        for translation in Translated.model_validate(answer, strict=True).translations:
            seen.update(translation.warnings)
            seen.update("alternatives" for sentence in translation.sentences if sentence.alternatives)
    assert "alternatives" in seen
    assert len(seen) > 1, "guards have found something"


def test_a_path_has_one_answer() -> None:
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


def test_the_copy_in_the_documentation_is_the_same() -> None:
    """Written by: python -m tests.serving.test_openapi"""
    assert json.loads(FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(openapi_document(APIS)))
    page = (files("limelight.page") / "page-1.json").read_text(encoding="utf-8")
    assert (FILE.parent / "page-1.json").read_text(encoding="utf-8") == page


def test_the_page_has_no_scripts() -> None:
    shown = openapi_page(openapi_document(APIS))
    assert "<script" not in shown
    assert "/v2/translate" in shown
    with running({"one": translator(table(1))}) as service:
        assert service.get("/openapi.json").value["openapi"] == "3.1.0"
        answer = service.get("/docs")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.value.decode() == shown


if __name__ == "__main__":
    FILE.write_text(json.dumps(openapi_document(APIS), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
