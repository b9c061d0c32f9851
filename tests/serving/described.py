"""Answers of a service against the OpenAPI document that it hands out."""

import functools
import json
import re
from typing import Any
from urllib.parse import urlsplit

import jsonschema

from limelight.serving.openapi import openapi_document
from limelight.serving.routes import APIS
from tests.serving.helpers import Answered


@functools.cache
def document() -> dict[str, Any]:
    return json.loads(json.dumps(openapi_document(APIS)))


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
    response = responses[status if status in responses else "default"]
    media_types = response.get("content", {})
    found = next((each for name, each in media_types.items() if kind.startswith(name) or name == "*/*"), None)
    assert (found is not None) == bool(kind), f"{method} {path} {status}: {kind or 'nothing'} is not described"
    if found is None or not kind.startswith("application/json"):
        return None
    schema = {**found["schema"], "components": document()["components"]}
    return jsonschema.Draft202012Validator(schema)


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
