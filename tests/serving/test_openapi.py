"""The documentation that the service hands out, and the copy of it in docs/schema."""

import json
from pathlib import Path

from limelight.serving.dialects.answers import Translated
from limelight.serving.openapi import openapi_document, openapi_page
from limelight.serving.routes import APIS, ROUTES
from tests.serving.helpers import carrying, running, table, translator

FILE = Path(__file__).parents[2] / "docs" / "schema" / "api-1.json"


def test_every_route_is_described() -> None:
    document = openapi_document(APIS)
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in APIS}
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    assert all(operation["summary"] for operation in operations)
    names = [operation["operationId"] for operation in operations]
    assert len(set(names)) == len(names)
    assert "$ref" not in json.dumps(document)


def test_answers_are_as_they_are_described() -> None:
    """All fields, and no others: whatever is asked for, and where guards have found something."""
    tags = {"text": "the <b>lamp</b> hums", "tag_handling": "html", "terms": [{"source": "lamp", "target": "Leuchte"}]}
    asked = [{"text": ["dab. Face!", ""], "n_best": 2}, {"text": "dab", "prefix": "ca", "n_best": 2}, {"text": "I"}]
    seen = set()
    with running({"one": translator(table(1), beam_size=2)}) as service:
        answers = [service.post("/api/v1/translate", each).value for each in asked]
        answers.append(service.post("/api/v1/translate", {"text": "dab", "sampling": {"seed": 1}}).value)
    with running({"one": carrying()}) as service:
        answers.append(service.post("/api/v1/translate", tags).value)
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
