"""The page at `/`, its files, and what it asks for: thin routes over `pipelines/explain.py`.

GET  /                      the page's frame
GET  /page/NAME             its modules and its style sheet
POST /api/v1/page/explain   the document of a translation: `docs/schema/page-1.json`
POST /api/v1/page/head      the weights of one head
POST /api/v1/page/look_up   the numbers of one look-up
POST /api/v1/page/file      the document as one HTML file that works without a server
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from limelight.serving.call import Call, Reply, Route
from limelight.serving.dialects.own import FORMAT, OWN
from limelight.serving.refusal import Refusal
from limelight.serving.service import Ask

if TYPE_CHECKING:
    from limelight.serving.service import Service

MAX_IDS = 1000

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""No script but the page's own files, none in its markup, and no connection but to this service."""

MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
FRAME = "text/html; charset=utf-8"

Ids = Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=MAX_IDS)]


class Explain(BaseModel):
    """A request of `/api/v1/page/explain`."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(description="One sentence.")
    source_lang: str = Field("", max_length=20, description="Found out where it is left out.")
    target_lang: str = Field("", max_length=20)
    model: str = Field("", max_length=200)
    beam_size: int | None = None
    prefix: Ids = Field([], description="Target tokens that the translation begins with.")
    target: Ids | None = Field(None, description="The target tokens to look at, instead of a search.")
    off: dict[str, list[int]] = Field({}, description="Heads that are switched off: `decoder.0.cross: [1]`.")

    temperature: dict[str, dict[int, float]] = Field({}, description="Of single heads: `decoder.0.cross: {1: 0.5}`.")

    def options(self) -> dict[str, Any]:
        """What an engine is asked, beside text and direction."""
        left = {"text", "source_lang", "target_lang", "model"}
        return self.model_dump(exclude=left, exclude_none=True)

    def ask(self) -> Ask:
        """For the checks that a translation goes through, too."""
        return Ask([self.text], self.target_lang, self.source_lang, self.model, {"beam_size": self.beam_size})


class Head(Explain):
    """A request of `/api/v1/page/head`."""

    kind: str
    layer: int = Field(ge=0)
    head: int = Field(ge=0)


class LookUp(Head):
    """A request of `/api/v1/page/look_up`."""

    row: int = Field(ge=0)


class File(Explain):
    """A request of `/api/v1/page/file`."""

    theme: str = "dark"


async def explain(service: Service, call: Call) -> Reply:
    """`POST /api/v1/page/explain`."""
    return Reply({"format": FORMAT, "document": await _answer(service, call, call.read(Explain), "explain")})


async def head(service: Service, call: Call) -> Reply:
    """`POST /api/v1/page/head`."""
    return Reply({"format": FORMAT, "matrix": await _answer(service, call, call.read(Head), "head_weights")})


async def look_up(service: Service, call: Call) -> Reply:
    """`POST /api/v1/page/look_up`."""
    return Reply({"format": FORMAT, "look_up": await _answer(service, call, call.read(LookUp), "look_up")})


async def file(service: Service, call: Call) -> Reply:
    """`POST /api/v1/page/file`."""
    text = await _answer(service, call, call.read(File), "explained_page")
    headers = {"Content-Disposition": 'attachment; filename="limelight.html"', "Content-Security-Policy": "sandbox"}
    return Reply(content=text.encode(), media_type=FRAME, headers=headers)


async def frame(service: Service, call: Call) -> Reply:
    """`GET /`."""
    return _static("index.html", FRAME)


async def static(service: Service, call: Call) -> Reply:
    """`GET /page/NAME`."""
    name = call.path["name"]
    there = {path.name for path in files("limelight.page").iterdir()}
    ending = name.rpartition(".")[2]
    if name not in there or ending not in MEDIA_TYPES:
        raise Refusal(404, "not_found", "there is nothing at this path")
    return _static(name, MEDIA_TYPES[ending])


async def _answer(service: Service, call: Call, asked: Explain, what: str) -> Any:
    return await service.inspect(call.client, asked.ask(), what, asked.options())


def _static(name: str, media_type: str) -> Reply:
    content = (files("limelight.page") / name).read_bytes()
    return Reply(content=content, media_type=media_type, headers={"Content-Security-Policy": POLICY})


ROUTES = (
    Route("GET", "/", OWN, frame, public=True, counted=False),
    Route("GET", "/page/{name}", OWN, static, public=True, counted=False),
    Route("POST", "/api/v1/page/explain", OWN, explain),
    Route("POST", "/api/v1/page/head", OWN, head),
    Route("POST", "/api/v1/page/look_up", OWN, look_up),
    Route("POST", "/api/v1/page/file", OWN, file),
)
