"""Every path of the service. The dialects do not collide, so one port speaks all of them."""

import json
from functools import cache

from starlette.responses import Response

from limelight.serving import page
from limelight.serving.call import Call, JsonObject
from limelight.serving.dialects import deepl, documents, glossaries, libretranslate, openai, own
from limelight.serving.openapi import openapi_document

MODULES = (page, documents, glossaries)
"""Modules that add routes to the APIs of others."""
APIS = (own.API, deepl.API, openai.API, libretranslate.API)
"""The last one answers for paths that none has."""


@cache
def documentation() -> bytes:
    """The document: made once, as this takes a while."""
    return json.dumps(openapi_document(APIS)).encode()


@own.API.get("/openapi.json")
@libretranslate.API.get("/spec", public=True)
async def describe(call: Call) -> JsonObject:
    """This document."""
    return Response(documentation(), media_type="application/json")  # type: ignore[return-value]
