"""Every path of the service. The dialects do not collide, so one port speaks all of them."""

import json
from functools import cache
from typing import Any

from limelight.serving import page
from limelight.serving.call import Call, Content, Dialect, Reply, Route
from limelight.serving.dialects import (
    deepl,
    documents,
    glossaries,
    libretranslate,
    memories,
    omegat,
    openai,
    own,
)
from limelight.serving.openapi import POLICY, openapi_document, openapi_page
from limelight.serving.service import Service

APIS: tuple[Route, ...] = (
    *own.ROUTES,
    *page.ROUTES,
    *deepl.ROUTES,
    *documents.ROUTES,
    *glossaries.ROUTES,
    *memories.ROUTES,
    *libretranslate.ROUTES,
    *omegat.ROUTES,
    *openai.ROUTES,
)


HTML = "text/html; charset=utf-8"


@cache
def _documentation() -> tuple[bytes, bytes]:
    """The document and the page of it: made once, as this takes a while."""
    document = openapi_document(APIS)
    return json.dumps(document).encode(), openapi_page(document).encode()


async def describe(service: Service, call: Call) -> Reply:
    """This document."""
    return Reply(content=_documentation()[0])


async def describe_to_people(service: Service, call: Call) -> Reply:
    """This document, for people."""
    headers = {"Content-Security-Policy": POLICY}
    return Reply(content=_documentation()[1], media_type=HTML, headers=headers)


ROUTES = (
    *APIS,
    Route("GET", "/openapi.json", own.OWN, describe, dict[str, Any]),
    Route("GET", "/spec", libretranslate.LIBRETRANSLATE, describe, dict[str, Any], public=True),
    Route("GET", "/docs", own.OWN, describe_to_people, Content(HTML)),
)

PREFIXES = {"/api/": own.OWN, "/v2/": deepl.DEEPL, "/v3/": deepl.DEEPL, "/v1/": openai.OPENAI}


def dialect_of(path: str) -> Dialect:
    """The dialect that a path looks like, for those that there are not."""
    return next(
        (dialect for prefix, dialect in PREFIXES.items() if path.startswith(prefix)), libretranslate.LIBRETRANSLATE
    )
