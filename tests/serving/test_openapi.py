"""The OpenAPI document: complete, valid, and what `docs/` shows."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema

from limelight.serving.openapi import APIS, openapi_document
from tests.serving.helpers import running, table, translator

FILE = Path(__file__).parents[2] / "docs" / "schema" / "api-1.json"
ROUTES = [route for api in APIS for route in api.routes]


def test_every_route_is_described_with_its_request_its_answer_and_its_errors() -> None:
    document = openapi_document(APIS)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
    for route in ROUTES:
        operation = document["paths"][route.path][route.method.lower()]
        assert operation["summary"]
        assert str(route.status) in operation["responses"]
        assert "default" in operation["responses"]
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return {name for each in value for name in references(each)}
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return own | {name for each in value.values() for name in references(each)}


def test_every_part_that_is_referred_to_is_there() -> None:
    document = openapi_document(APIS)
    for name in references(document):
        part: Any = document
        for step in name.removeprefix("#/").split("/"):
            part = part[step]


def test_the_copy_in_the_documentation_is_the_same() -> None:
    """Written by: python -m tests.serving.test_openapi"""
    assert json.loads(FILE.read_text(encoding="utf-8")) == json.loads(json.dumps(openapi_document(APIS)))
    page = (files("limelight.page") / "page-1.json").read_text(encoding="utf-8")
    assert (FILE.parent / "page-1.json").read_text(encoding="utf-8") == page


def test_a_service_hands_it_out() -> None:
    with running({"one": translator(table(1))}) as service:
        assert service.get("/openapi.json").value["openapi"] == "3.1.0"


if __name__ == "__main__":
    FILE.write_text(json.dumps(openapi_document(APIS), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
