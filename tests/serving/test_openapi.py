"""The OpenAPI document: complete and valid."""

import json
import re

import jsonschema

from limelight.serving.openapi import APIS, openapi_document

ROUTES = [route for api in APIS for route in api.routes]


def test_every_route_is_described_with_its_request_and_its_errors() -> None:
    document = openapi_document()
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
    for route in ROUTES:
        operation = document["paths"][route.path][route.method.lower()]
        assert operation["summary"]
        assert {str(route.status), "default"} <= set(operation["responses"])
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    named = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(document))
    assert set(named) <= set(document["components"]["schemas"])
