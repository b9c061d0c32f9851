"""The OpenAPI document of the service, made of the types of its handlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from limelight import __version__
from limelight.serving.call import Api, Route
from limelight.serving.fields import FORM, JSON, MULTIPART
from limelight.serving.refusal import Refusal

_ANY = Refusal(500, "internal", "")
REF = "#/components/schemas/{model}"
EVENTS = "text/event-stream"


def openapi_document(apis: Sequence[Api]) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes."""
    routes = [route for api in apis for route in api.routes]
    inputs: list[Any] = []
    for route in routes:
        inputs.append((route, "validation", TypeAdapter[Any](route.form or type(None))))
        inputs.append((route, "serialization", TypeAdapter[Any](_type_of(route))))
    inputs += [(api, "serialization", TypeAdapter(type(api.failure(_ANY)))) for api in apis]
    known, schemas = TypeAdapter.json_schemas(inputs, ref_template=REF)
    paths: dict[str, Any] = {}
    for route in routes:
        asked, given = known[route, "validation"], known[route, "serialization"]
        operation = _operation(route, asked, given, schemas["$defs"])
        failure = {JSON: {"schema": known[route.api, "serialization"]}}
        operation["responses"]["default"] = {"description": "Why there is no answer.", "content": failure}
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Limelight", "version": __version__, "description": "Translation, see docs/serving.md."},
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas["$defs"],
        },
    }


def _type_of(route: Route) -> Any:
    """The type of the answer; that of None if it is not JSON."""
    return route.types["return"] if _is_json(route) else type(None)


def _is_json(route: Route) -> bool:
    return route.media_type == JSON and route.status != 204


def _operation(route: Route, asked: Any, given: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}{route.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "tags": [route.api.name],
        "summary": (route.handler.__doc__ or "").strip().split("\n")[0],
        "parameters": [
            {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
            for part in route.path.split("/")
            if part.startswith("{")
        ],
    }
    if route.form is not None:
        schema = schemas[asked["$ref"].rpartition("/")[2]]
        fields, required = schema.get("properties", {}), schema.get("required", [])
        if route.method in ("GET", "DELETE"):
            operation["parameters"] += [
                {"name": name, "in": "query", "required": name in required, "schema": each}
                for name, each in fields.items()
            ]
        elif route.upload:
            with_file = {"properties": {**fields, "file": {"type": "string", "format": "binary"}}}
            operation["requestBody"] = {
                "content": {MULTIPART: {"schema": {**schema, **with_file}}, JSON: {"schema": asked}}
            }
        else:
            kinds = (JSON,) if route.api.own or not route.api.key_field else (JSON, FORM)
            operation["requestBody"] = {"required": True, "content": {kind: {"schema": asked} for kind in kinds}}
    if not route.public:
        operation["security"] = [{}, {"key": []}]
    content = {route.media_type: {"schema": given if _is_json(route) else {"type": "string"}}}
    if "stream" in (route.form.model_fields if route.form else ()):
        content[EVENTS] = {"schema": {"type": "string"}}
    answer = {"description": "The answer.", **({} if route.status == 204 else {"content": content})}
    operation["responses"] = {str(status): answer for status in (route.status, *route.statuses)}
    return operation
