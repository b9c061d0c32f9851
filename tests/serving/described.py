"""Requests and answers of a service against the OpenAPI document that it hands out."""

import functools
import json
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jsonschema

from limelight.serving.openapi import openapi_document
from limelight.serving.routes import ROUTES
from tests.serving.helpers import Answered

JSON, FORM = "application/json", "application/x-www-form-urlencoded"


@functools.cache
def document() -> dict[str, Any]:
    return json.loads(json.dumps(openapi_document(ROUTES)))


def operation_of(method: str, path: str) -> tuple[str, dict[str, Any]] | None:
    """The path as the document has it, and what it says of this request; None where there is no such route."""
    path = urlsplit(path).path
    for known, methods in document()["paths"].items():
        if re.fullmatch(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(known)), path) and method.lower() in methods:
            return known, methods[method.lower()]
    return None


@functools.cache
def validator(path: str, method: str, status: str, kind: str) -> Any:
    """Validates such an answer; None where the document does not have its media type."""
    responses = document()["paths"][path][method]["responses"]
    assert status in responses, f"{method} {path}: {status} is not described"
    response = responses[status]
    if "$ref" in response:
        response = document()["components"]["responses"][response["$ref"].rpartition("/")[2]]
    media_types = response.get("content", {})
    found = next((each for name, each in media_types.items() if kind.startswith(name) or name == "*/*"), None)
    assert (found is not None) == bool(kind), f"{method} {path} {status}: {kind or 'nothing'} is not described"
    if found is None or not kind.startswith("application/json"):
        return None
    schema = {**found["schema"], "components": document()["components"]}
    return jsonschema.Draft202012Validator(schema)


def require_request_described(method: str, path: str, body: Any, kind: str) -> str:
    """The media type with which the document describes such a request, of which there was an answer; empty where it is
    not looked at. Fails for a form or a JSON object that is not described, or not as it is described."""
    found = operation_of(method, path)
    if found is None or method == "GET" or not body or not isinstance(body, dict | list | str):
        return ""
    kind = JSON if isinstance(body, dict | list) else kind.partition(";")[0]
    if kind not in (JSON, FORM):
        return ""
    described = found[1].get("requestBody", {}).get("content", {})
    assert kind in described or not described, f"{method} {path}: a request as {kind} is not described"
    if described:
        checked = request_validator(found[0], method.lower(), kind)
        value = json.loads(body) if kind == JSON and isinstance(body, str) else body
        checked.validate(fields_of(body, checked.schema) if kind == FORM else value)
    return kind


@functools.cache
def request_validator(path: str, method: str, kind: str) -> Any:
    """Validates a body of this media type."""
    schema = document()["paths"][path][method]["requestBody"]["content"][kind]["schema"]
    return jsonschema.Draft202012Validator({**schema, "components": document()["components"]})


def fields_of(form: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The fields of a form as the schema has them. A field that the schema does not have fails."""
    found: dict[str, Any] = {}
    for name, values in parse_qs(form, keep_blank_values=True, strict_parsing=True).items():
        field = schema["properties"][name]
        kinds = {each["type"] for each in field.get("anyOf", [field])}
        assert len(values) == 1 or "array" in kinds, f"{name} stands there {len(values)} times"
        given: Any = values if len(values) > 1 or kinds == {"array"} else values[0]
        found[name] = int(given) if kinds == {"integer"} else given
    return found


def require_described(method: str, path: str, answer: Answered) -> str:
    """The path as the document has it; empty for a path that there is not. Fails for an answer that is not described,
    or not as it is described."""
    found = operation_of(method, path)
    if found is None or answer.status == 405 or "%" in path:  # which may be another path than it looks
        return ""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    checked = validator(found[0], method.lower(), str(answer.status), headers.get("content-type", ""))
    if checked is not None:
        checked.validate(answer.value)
    return found[0]
