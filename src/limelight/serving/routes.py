"""Every path of the service. The dialects do not collide, so one port speaks all of them."""

import json
from functools import cache
from typing import Any

from starlette.responses import Response

from limelight.serving import page
from limelight.serving.call import Call, content
from limelight.serving.dialects import deepl, documents, glossaries, libretranslate, openai, own
from limelight.serving.openapi import POLICY, openapi_document, openapi_page

HTML = "text/html; charset=utf-8"
MODULES = (page, documents, glossaries)
"""Modules that add routes to the APIs of others."""
APIS = (own.API, deepl.API, openai.API, libretranslate.API)
"""The last one answers for paths that none has."""


@cache
def documentation() -> tuple[bytes, bytes]:
    """The document and the page of it: made once, as this takes a while."""
    document = openapi_document(APIS)
    return json.dumps(document).encode(), openapi_page(document).encode()


@own.API.get("/openapi.json")
@libretranslate.API.get("/spec", public=True)
async def describe(call: Call) -> dict[str, Any]:
    """This document."""
    return content(documentation()[0], "application/json")  # type: ignore[return-value]


@own.API.get("/docs", media_type=HTML)
async def describe_to_people(call: Call) -> Response:
    """A list of the paths, for people."""
    return content(documentation()[1], HTML, Content_Security_Policy=POLICY)
