"""Every path of the service, and the OpenAPI document of them. The dialects do not collide: one port speaks all."""

from functools import cache

from pydantic.json_schema import models_json_schema

from limelight import __version__
from limelight.serving import page  # noqa: F401  # adds routes, as `documents` does
from limelight.serving.call import Call, JsonObject
from limelight.serving.dialects import deepl, documents, libretranslate, openai, own  # noqa: F401
from limelight.serving.fields import FORM, JSON, MULTIPART

REF = "#/components/schemas/{model}"
APIS = (own.API, deepl.API, openai.API, libretranslate.API)
"""The last one answers for paths that none has."""


@own.API.route("/openapi.json")
@libretranslate.API.route("/spec", public=True)
async def describe(call: Call) -> JsonObject:
    """This document."""
    return openapi_document()


@cache
def openapi_document() -> JsonObject:
    """OpenAPI 3.1 of the requests of all routes: made once, as this takes a while."""
    routes = [route for api in APIS for route in api.routes]
    forms = {route.form: None for route in routes if route.form is not None}
    known, schemas = models_json_schema([(form, "validation") for form in forms], ref_template=REF)
    paths: JsonObject = {}
    for route in routes:
        answers = {str(route.status): {"description": "The answer."}, "default": {"description": "Why there is none."}}
        summary = (route.handler.__doc__ or "").strip().split("\n")[0]
        parameters = [("path", name, True) for name in route.pattern.groupindex]
        operation: JsonObject = {"summary": summary, "responses": answers}
        if route.form is not None and route.method == "GET":
            parameters += [("query", name, field.is_required()) for name, field in route.form.model_fields.items()]
        elif route.form is not None:
            content = {"schema": known[route.form, "validation"]}
            operation["requestBody"] = {"content": dict.fromkeys((JSON, MULTIPART if route.upload else FORM), content)}
        operation["parameters"] = [
            {"in": location, "name": name, "required": required, "schema": {"type": "string"}}
            for location, name, required in parameters
        ]
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    info = {"title": "Limelight", "version": __version__, "description": "Translation, see docs/serving.md."}
    return {"openapi": "3.1.0", "info": info, "paths": paths, "components": {"schemas": schemas["$defs"]}}
