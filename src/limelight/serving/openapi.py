"""The OpenAPI document of the service, and a page of it without scripts."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from limelight import __version__
from limelight.serving.body import FORM, JSON, MULTIPART
from limelight.serving.call import PAGE, Content, Dialect, Route

STYLE = (
    "body{font:16px/1.5 system-ui;max-width:60em;margin:2em auto;padding:0 1em}h3{margin-top:2em}"
    "td{padding-right:1em;vertical-align:top}caption{text-align:left;font-weight:600}"
)
POLICY = f"default-src 'none'; style-src 'sha256-{b64encode(sha256(STYLE.encode()).digest()).decode()}'"
"""Content security policy of the HTML page: no script, and no style but its own."""

ERRORS = {
    400: "The request is invalid, or asks for what is not supported.",
    403: "Without keys: the request is from a page of another origin, or for a name that is none of the service.",
    404: "Nothing has this name.",
    408: "The body arrived too slowly.",
    413: "The request is too large; the message names the limit.",
    415: "The format of the body, or of the document, is unknown.",
    429: "Too many requests of one client; Retry-After gives the time of the next attempt.",
    500: "A fault of the service; X-Trace-ID is in its log.",
    503: "Too many requests, or no model at the moment; Retry-After gives the time of the next attempt.",
    504: "The request took longer than the deadline.",
}
STATUSES = {200: "The answer.", 201: "It is created.", 204: "It is deleted.", 503: "The same, not ready."}
EVENTS = "text/event-stream"
COMPONENTS = "#/components/schemas/"
NAMES = {"limelight": "Limelight", "deepl": "DeepL", "libretranslate": "LibreTranslate", "openai": "OpenAI"}
INTRODUCTION = (
    "The APIs of this service, on one port. Requests are JSON objects; DeepL's and LibreTranslate's may be forms, too. "
    "The page to try the service is at <a href=/>/</a>; this document is <a href=/openapi.json>/openapi.json</a>."
)


def openapi_document(routes: Sequence[Route]) -> dict[str, Any]:
    """OpenAPI 3.1 of all routes."""
    schemas = _Schemas()
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    responses = {name: value for dialect in _dialects(routes) for name, value in _failures(dialect, schemas)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Limelight", "version": __version__, "description": "Translation, see docs/serving.md."},
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "responses": responses,
            "schemas": schemas.components,
        },
    }


def _dialects(routes: Sequence[Route]) -> list[Dialect]:
    return list({route.dialect.name: route.dialect for route in routes}.values())


def _failures(dialect: Dialect, schemas: _Schemas) -> list[tuple[str, Any]]:
    """The errors of a dialect as components."""
    content = {JSON: {"schema": schemas.of(dialect.failure, dialect.name)}}
    said = {**ERRORS, dialect.denied: "The key is missing or unknown."}
    if dialect.denied == 403:
        said[403] += f" {ERRORS[403]}"
    return [(f"{dialect.name}.{status}", {"description": said[status], "content": content}) for status in sorted(said)]


def _operation(route: Route, schemas: _Schemas) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}{route.path.replace('/', '_').replace('{', '').replace('}', '')}",
        "tags": [route.dialect.name],
        "summary": (route.handler.__doc__ or "").strip().split("\n")[0],
    }
    parameters = [
        {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string"}}
        for part in route.path.split("/")
        if part.startswith("{")
    ]
    if route.form is not None:
        schema = schemas.of(route.form, route.dialect.name, answer=False)
        if route.method in ("GET", "DELETE"):
            parameters += _in_query(schema)
        else:
            operation["requestBody"] = _body(schema, route)
    if parameters:
        operation["parameters"] = parameters
    if not route.public:
        operation["security"] = [{}, {"key": []}]
    operation["responses"] = _responses(route, schemas)
    return operation


def _in_query(schema: dict[str, Any]) -> list[dict[str, Any]]:
    required = schema.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": each}
        for name, each in schema["properties"].items()
    ]


def _body(schema: dict[str, Any], route: Route) -> dict[str, Any]:
    key = route.dialect.key_field
    if key:
        said = "The key, where it is not in the header Authorization."
        schema = {**schema, "properties": {**schema["properties"], key: {"type": "string", "description": said}}}
    if route.upload:
        file = {"type": "string", "format": "binary", "description": "The document."}
        nested = [name for name, each in schema["properties"].items() if _is_nested(each)]
        fields = {name: each for name, each in _form(schema)["properties"].items() if name not in nested}
        required = [*schema.get("required", ()), "file"]
        form = {**schema, "properties": {**fields, "file": file}, "required": required}
        as_json = {JSON: {"schema": schema}} if nested else {}  # in place of the file
        return {"required": True, "content": {MULTIPART: {"schema": form}, **as_json}}
    content = {JSON: {"schema": schema}}
    if route.dialect.forms and not any(_is_nested(each) for each in schema["properties"].values()):
        content[FORM] = {"schema": _form(schema)}
    return {"required": True, "content": content}


def _is_nested(schema: dict[str, Any]) -> bool:
    """Whether a field holds objects, which a form cannot have."""
    parts = [schema, *schema.get("anyOf", ()), schema.get("items", {})]
    return any("$ref" in part or part.get("type") == "object" for part in parts)


def _form(schema: dict[str, Any]) -> dict[str, Any]:
    """The fields as those of a form, where a list is a field that stands there several times, and nothing is null."""
    return {**schema, "properties": {name: _filled(each) for name, each in schema["properties"].items()}}


def _filled(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field as text."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    found = {key: each for key, each in schema.items() if key != "anyOf" and not (key == "default" and each is None)}
    found |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds} if kinds else {}
    if found.get("type") == "boolean":
        found |= {"type": "string", "enum": ["0", "1", "false", "true"]}
        found |= {"default": str(int(found["default"]))} if "default" in found else {}
    return found


def _responses(route: Route, schemas: _Schemas) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if isinstance(route.answer, Content):
        text = {"type": "string", **({"format": "binary"} if route.answer.binary else {})}
        content = {route.answer.media_type: {"schema": text}}
    elif route.answer is not None:
        content = {JSON: {"schema": schemas.of(route.answer, route.dialect.name)}}
    if route.streams:
        content[EVENTS] = {"schema": {"type": "string"}}
    answer = {"content": content} if content else {}
    found = {str(status): {"description": STATUSES[status], **answer} for status in route.statuses}
    dialect = route.dialect
    failing = {*ERRORS, *(() if route.public else (dialect.denied,))} - set(route.statuses)
    for status in sorted(failing):
        found[str(status)] = {"$ref": f"#/components/responses/{dialect.name}.{status}"}
    return found


class _Schema(GenerateJsonSchema):
    """Without titles, which repeat the names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False


class _AnswerSchema(_Schema):
    """Schemas of answers: a default says only that a field may be missing."""

    def default_schema(self, schema: Any) -> Any:
        """That of the value."""
        return self.generate_inner(schema["schema"])


class _Schemas:
    """The schemas of a document, whose parts become its components."""

    def __init__(self) -> None:
        self.components: dict[str, Any] = {}
        self._page = json.loads((files("limelight.page") / "page-1.json").read_text(encoding="utf-8"))

    def of(self, kind: Any, api: str, *, answer: bool = True) -> dict[str, Any]:
        """The schema of a type that pydantic knows."""
        schema = TypeAdapter(kind).json_schema(schema_generator=_AnswerSchema if answer else _Schema)
        found: dict[str, Any] = self._linked(schema, api)
        return found

    def _linked(self, schema: dict[str, Any], prefix: str) -> Any:
        """With its definitions as components, whose names begin with the prefix."""
        for name, definition in schema.pop("$defs", {}).items():
            self._keep(f"{prefix}.{name}", self._renamed(definition, prefix))
        return self._renamed(schema, prefix)

    def _keep(self, name: str, definition: Any) -> None:
        if self.components.setdefault(name, definition) != definition:
            raise ValueError(f"two schemas are called {name}")

    def _renamed(self, value: Any, prefix: str) -> Any:
        if isinstance(value, list):
            return [self._renamed(each, prefix) for each in value]
        if not isinstance(value, dict):
            return value
        if PAGE in value:
            return self._of_page(value[PAGE])
        found = {key: self._renamed(each, prefix) for key, each in value.items() if not _is_title(key, each)}
        if "$ref" in found:
            name = found["$ref"].rpartition("/")[2]
            found["$ref"] = f"{COMPONENTS}{prefix}.{'document' if name == '#' else name}"
        return found

    def _of_page(self, part: str) -> dict[str, Any]:
        """A reference to this part of the page's document, or to all of it."""
        if self._page:
            whole, self._page = self._page, {}
            parts = {
                name: each for name, each in whole["properties"].items() if each.get("type") in ("object", "array")
            }
            whole["properties"] |= {name: {"$ref": f"/{name}"} for name in parts}
            whole["$defs"] |= {**parts, "document": {key: whole[key] for key in whole if key[0] != "$"}}
            self._linked({"$defs": whole["$defs"]}, "page")
        return {"$ref": f"{COMPONENTS}page.{part}"}


def _is_title(key: str, value: Any) -> bool:
    return key == "title" and isinstance(value, str)


def openapi_page(document: dict[str, Any]) -> str:
    """The same for people."""
    of_api: dict[str, list[str]] = {}
    schemas = document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            shown = of_api.setdefault(operation["tags"][0], [])
            shown.append(f"<h3>{method.upper()} {escape(path)}</h3><p>{escape(operation['summary'])}</p>")
            shown += _tables(operation, schemas)
    title = f"{document['info']['title']} {document['info']['version']}"
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>Limelight</title><style>{STYLE}</style>"
    parts = [f"<h2>{escape(NAMES.get(api, api))}</h2>{''.join(shown)}" for api, shown in of_api.items()]
    return f"{head}<h1>{escape(title)}</h1><p>{INTRODUCTION}</p>{''.join(parts)}"


def _tables(operation: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    """The schema of a request and of its answer."""
    asked = {each["name"]: each["schema"] for each in operation.get("parameters", ())}
    required = {each["name"] for each in operation.get("parameters", ()) if each["required"]}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        asked |= content["schema"]["properties"]
        required |= set(content["schema"].get("required", ()))
    (answer,) = [each for status, each in operation["responses"].items() if status in ("200", "201", "204")]
    given: dict[str, Any] = {}
    some = "Answer"
    for media_type, content in answer.get("content", {}).items():
        schema = _whole(content["schema"], schemas)
        if schema.get("type") == "array":
            schema, some = _whole(schema["items"], schemas), "Answer: a list of"
        given |= schema.get("properties", {})
        if not given:
            return [*_table("Request", asked, required), f"<p>The answer is {escape(media_type)}.</p>"]
    return [*_table("Request", asked, required), *_table(some, given, set())]


def _whole(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").removeprefix(COMPONENTS)
    return {**schemas.get(name, {}), **schema}


def _table(caption: str, fields: dict[str, Any], required: set[str]) -> list[str]:
    rows = [
        f"<tr><td><code>{escape(name)}</code>{' (required)' if name in required else ''}"
        f"<td>{escape(field.get('description', ''))}"
        for name, field in sorted(fields.items(), key=lambda item: item[0] not in required)  # required ones first
    ]
    return [f"<table><caption>{caption}</caption>", *rows, "</table>"] if rows else []
