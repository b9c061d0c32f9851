"""The documentation that the service itself hands out: an OpenAPI document, and a page of it without scripts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from typing import Any

from limelight import __version__
from limelight.serving.call import Route

STYLE = "body{font:16px/1.5 system-ui;max-width:48em;margin:2em auto;padding:0 1em}td{padding-right:1em}"
POLICY = f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""Of the page for people: no script, and no style but its own."""

ERRORS = {
    "400": "cannot be understood, or is not supported",
    "413": "more than the service takes at a time",
    "429": "too many requests of one client; Retry-After says when to come back",
    "503": "no room, or no model at the moment; Retry-After says when to come back",
}


def openapi_document(routes: Sequence[Route]) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes."""
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Limelight", "version": __version__, "description": "Translation, see docs/serving.md."},
        "paths": paths,
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}{route.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "tags": [route.dialect.name],
        "summary": (route.handler.__doc__ or "").strip().split("\n")[0],
        "responses": {"200": {"description": "the answer"}},
    }
    names = [part[1:-1] for part in route.path.split("/") if part.startswith("{")]
    if names:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names
        ]
    if not route.public:
        operation["security"] = [{}, {"key": []}]
    if route.answer is not None:
        whole = {"application/json": {"schema": _inlined(route.answer.model_json_schema())}}
        operation["responses"]["200"]["content"] = {**whole, "text/event-stream": {"schema": {"type": "string"}}}
    if route.form is not None:
        schema = _inlined(route.form.model_json_schema())
        kind = "multipart/form-data" if route.upload else "application/json"
        if route.upload:
            schema["properties"]["file"] = {"type": "string", "format": "binary"}
            schema.setdefault("required", []).append("file")
        operation["requestBody"] = {"required": True, "content": {kind: {"schema": schema}}}
        operation["responses"].update({status: {"description": said} for status, said in ERRORS.items()})
    return operation


def _inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without definitions apart."""
    definitions = schema.pop("$defs", {})

    def resolve(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return resolve(definitions[value["$ref"].rpartition("/")[2]])
            return {key: resolve(each) for key, each in value.items()}
        return [resolve(each) for each in value] if isinstance(value, list) else value

    found: dict[str, Any] = resolve(schema)
    return found


def openapi_page(document: dict[str, Any]) -> str:
    """The same for people."""
    parts = [f"<h1>{escape(document['info']['title'])} {escape(document['info']['version'])}</h1>"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            parts.append(f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(operation['summary'])}</p>")
            parts += _fields(operation)
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>Limelight</title><style>{STYLE}</style>"
    return head + "".join(parts)


def _fields(operation: dict[str, Any]) -> list[str]:
    rows = []
    for content in operation.get("requestBody", {}).get("content", {}).values():
        required = content["schema"].get("required", ())
        for name, field in content["schema"]["properties"].items():
            need = " (required)" if name in required else ""
            rows.append(f"<tr><td><code>{escape(name)}</code>{need}<td>{escape(field.get('description', ''))}")
    return ["<table>", *rows, "</table>"] if rows else []
