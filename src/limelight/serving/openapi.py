"""The OpenAPI document of the service, made of the types of its handlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from limelight import __version__
from limelight.serving.call import Api, JsonObject, Route
from limelight.serving.fields import FORM, JSON, MULTIPART

REF = "#/components/schemas/{model}"
EVENTS = "text/event-stream"
FAILURE = {"description": "Why there is no answer.", "content": {JSON: {"schema": {"type": "object"}}}}


def openapi_document(apis: Sequence[Api]) -> JsonObject:
    """OpenAPI 3.1 of all routes."""
    routes = [route for api in apis for route in api.routes]
    types = [(route, "validation", TypeAdapter[Any](route.form or type(None))) for route in routes]
    types += [(route, "serialization", TypeAdapter[Any](_answer_of(route))) for route in routes]
    known, schemas = TypeAdapter.json_schemas(types, ref_template=REF)  # type: ignore[arg-type]
    paths: JsonObject = {}
    for route in routes:
        asked, given = known[route, "validation"], known[route, "serialization"]
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, asked, given, schemas["$defs"])
    return {
        "openapi": "3.1.0",
        "info": {"title": "Limelight", "version": __version__, "description": "Translation, see docs/serving.md."},
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas["$defs"],
        },
    }


def _answer_of(route: Route) -> Any:
    """The type of the answer; of None if it is not JSON."""
    return route.types["return"] if route.media_type == JSON and route.status != 204 else type(None)


def _operation(route: Route, asked: JsonObject, given: JsonObject, schemas: JsonObject) -> JsonObject:
    operation: JsonObject = {
        "operationId": f"{route.method.lower()}{route.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "tags": [route.api.name],
        "summary": (route.handler.__doc__ or "").strip().split("\n")[0],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in route.pattern.groupindex
        ],
    }
    schema = schemas[asked["$ref"].rpartition("/")[2]] if route.form is not None else {}
    fields = schema.get("properties", {})
    if route.method in ("GET", "DELETE"):
        operation["parameters"] += [
            {"name": name, "in": "query", "required": name in schema.get("required", []), "schema": each}
            for name, each in fields.items()
        ]
    elif route.form is not None:
        bodies = {JSON: {"schema": asked}}
        if route.upload:
            with_file = {**fields, "file": {"type": "string", "format": "binary"}}
            bodies[MULTIPART] = {"schema": {**schema, "properties": with_file}}
        elif route.api.key_field:
            bodies[FORM] = {"schema": asked}
        operation["requestBody"] = {"required": not route.upload, "content": bodies}
    if not route.public:
        operation["security"] = [{}, {"key": []}]
    content = {route.media_type: {"schema": given if route.media_type == JSON else {"type": "string"}}}
    if "stream" in fields:
        content[EVENTS] = {"schema": {"type": "string"}}
    answer = {"description": "The answer.", **({} if route.status == 204 else {"content": content})}
    operation["responses"] = {str(route.status): answer, "default": FAILURE}
    return operation
