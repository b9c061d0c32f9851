"""The page at `/`, its files, and what it asks for: thin routes over `pipelines/explain.py`.

GET  /                      the page's frame
GET  /page/NAME             its modules and its style sheet
POST /api/v1/page/explain   the document of a translation: `docs/schema/page-1.json`
POST /api/v1/page/head      the weights of one head
POST /api/v1/page/look_up   the numbers of one look-up
POST /api/v1/page/measures  what weights do not say: erasure, contributions, shares of source and prefix
POST /api/v1/page/layers    what can be read from each layer
POST /api/v1/page/patch     what returns of one sentence when its vectors are put into another
POST /api/v1/page/snapshots the snapshots of a model's run, and the curve of its validations
POST /api/v1/page/file      the document as one HTML file that works without a server
POST /api/v1/page/write     a text written on, as server-sent events, with its document at the end
POST /api/v1/page/fill      the document of a text whose masks are filled in
POST /api/v1/page/text_head the weights of one head of a text
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from limelight.errors import UserError
from limelight.serving.asks import Ask
from limelight.serving.call import Call, Content, Reply, Route
from limelight.serving.dialects.answers import FORMAT, Explained, Layers, LookUps, Matrix, Measures, Patching, Snapshots
from limelight.serving.dialects.events import Following, Progress, event, following
from limelight.serving.dialects.own import OWN, Sampling, error
from limelight.serving.refusal import Refusal, bad_request

if TYPE_CHECKING:
    from limelight.serving.service import Service

MAX_IDS = 1000
MAX_TEXT = 2000
MAX_FORCED = 500
MAX_STATE = 4000
MAX_WRITTEN = 100
MAX_BESIDE = 3
MAX_SNAPSHOTS = 16
"""In a file."""

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
    source_lang: str = Field("", max_length=20, description="Source language; detected if omitted.")
    target_lang: str = Field("", max_length=20)
    model: str = Field("", max_length=200)
    beam_size: int | None = None
    prefix: Ids = Field([], description="Target tokens with which the translation begins.")
    forced: str = Field("", max_length=MAX_FORCED, description="Text with which it goes on after `prefix`.")
    target: Ids | None = Field(None, description="Target tokens to inspect instead of those of a search.")
    off: dict[str, list[int]] = Field({}, description="Heads that are switched off: `decoder.0.cross: [1]`.")

    temperature: dict[str, dict[int, float]] = Field({}, description="Of single heads: `decoder.0.cross: {1: 0.5}`.")
    snapshot: int | None = Field(None, ge=0, description="The model after so many updates, instead of the best one.")

    def options(self) -> dict[str, Any]:
        """What an engine is asked, beside text and direction."""
        left = {"text", "source_lang", "target_lang", "model", "theme", "beside", "training", "state", "patched"}
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


class Patch(Explain):
    """A request of `/api/v1/page/patch`."""

    other: str = Field(max_length=MAX_TEXT, description="Another sentence, with as many tokens.")


class File(Explain):
    """A request of `/api/v1/page/file`."""

    theme: str = "dark"
    state: str = Field("", max_length=MAX_STATE, description="The fragment of the page's address: what is open.")
    beside: list[str] = Field([], max_length=MAX_BESIDE, description="Models whose maps stand beside this one.")
    patched: tuple[str, str] | None = Field(None, description="Two sentences for the view Patching.")
    training: bool = Field(False, description="Whether to include the snapshots of the model's run.")

    def plain(self, **changed: Any) -> Explain:
        """The same sentence without anything forced or switched off."""
        kept = self.model_dump(include={"text", "source_lang", "target_lang", "model", "beam_size"})
        return Explain(**{**kept, **changed})

    def is_changed(self) -> bool:
        """Whether something is forced or switched off."""
        return bool(self.prefix or self.forced or self.off or self.temperature)


class Named(BaseModel):
    """A request of `/api/v1/page/snapshots`."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(max_length=200)


class Text(Named):
    """A request of `/api/v1/page/fill`."""

    text: str = Field(max_length=MAX_TEXT)


class TextHead(Text):
    """A request of `/api/v1/page/text_head`."""

    kind: str
    layer: int = Field(ge=0)
    head: int = Field(ge=0)


class Write(Text):
    """A request of `/api/v1/page/write`."""

    max_tokens: int = Field(40, ge=1, le=MAX_WRITTEN)
    sampling: Sampling | None = Field(
        None, description="Settings of sampling; if omitted, the most probable tokens are searched for."
    )


async def explain(service: Service, call: Call) -> Reply:
    """The document of a translation: docs/schema/page-1.json."""
    return Reply({"format": FORMAT, "document": await _answer(service, call, call.read(Explain), "explain")})


async def head(service: Service, call: Call) -> Reply:
    """The weights of one head."""
    return Reply({"format": FORMAT, "matrix": await _answer(service, call, call.read(Head), "head_weights")})


async def look_up(service: Service, call: Call) -> Reply:
    """The numbers of one computation of attention."""
    return Reply({"format": FORMAT, "look_up": await _answer(service, call, call.read(LookUp), "look_up")})


async def measures(service: Service, call: Call) -> Reply:
    """Erasure, contributions, and shares of source and prefix."""
    return Reply({"format": FORMAT, "measures": await _answer(service, call, call.read(Explain), "measures")})


async def patch(service: Service, call: Call) -> Reply:
    """The effects of patching between two sentences."""
    return Reply({"format": FORMAT, "patching": await _answer(service, call, call.read(Patch), "patch")})


async def layers(service: Service, call: Call) -> Reply:
    """The translation from each encoder layer, and the predictions of each decoder layer."""
    return Reply({"format": FORMAT, "layers": await _answer(service, call, call.read(Explain), "layers")})


async def file(service: Service, call: Call) -> Reply:
    """The document as one HTML file that works without a server."""
    from limelight.inspection.standalone import require_theme, standalone_page  # with torch, which only this needs

    asked = call.read(File)
    try:
        require_theme(asked.theme)
    except UserError as mistake:
        raise bad_request(str(mistake)) from None
    document = await _answer(service, call, asked, "explain_whole")
    if asked.state:
        document["state"] = asked.state
    if asked.is_changed():
        before = await _answer(service, call, asked.plain(snapshot=asked.snapshot), "explain")
        document["before"] = before["translation"]
    if asked.patched:
        first, other = asked.patched
        pair = Patch(other=other, **asked.plain(text=first).model_dump(exclude_unset=True))
        document["patching"] = await _answer(service, call, pair, "patch")
    if asked.beside:
        others = [asked.plain(model=name) for name in asked.beside]
        document["beside"] = [await _answer(service, call, each, "explain_heads") for each in others]
    if asked.training:
        document["training"] = await _training(service, call, asked)
    text = await asyncio.to_thread(standalone_page, document, theme=asked.theme)
    headers = {"Content-Disposition": 'attachment; filename="limelight.html"', "Content-Security-Policy": "sandbox"}
    return Reply(content=text.encode(), media_type=FRAME, headers=headers)


async def _training(service: Service, call: Call, asked: File) -> dict[str, Any]:
    """The curve, and the document of each snapshot; of many of them so many that are spread evenly."""
    found = await _snapshots(service, call, asked.model)
    updates = found["updates"]
    count = min(len(updates), MAX_SNAPSHOTS)
    chosen = [updates[(each + 1) * len(updates) // count - 1] for each in range(count)]
    documents = {
        str(update): await _answer(service, call, asked.plain(snapshot=update), "explain_heads") for update in chosen
    }
    return {"updates": chosen, "curve": found["curve"], "documents": documents}


async def snapshots(service: Service, call: Call) -> Reply:
    """The snapshots of a model's run, and the curve of its validations."""
    return Reply({"format": FORMAT, **await _snapshots(service, call, call.read(Named).model)})


async def _snapshots(service: Service, call: Call, model: str) -> dict[str, Any]:
    found: dict[str, Any] = await service.of_model(call.client, model, "snapshots")
    return found


async def write(service: Service, call: Call) -> Reply:
    """Continue a text, as server-sent events with its document at the end."""
    asked = call.read(Write)
    options = {"max_tokens": asked.max_tokens, "sampling": asked.sampling and asked.sampling.model_dump()}
    begun = await following(
        service, lambda shown: service.of_model(call.client, asked.model, "write", asked.text, options, shown)
    )
    return Reply(events=_events(begun), close=begun.close)


async def _events(items: Following) -> AsyncIterator[str]:
    """`partial` while the text grows; then `done` with the document, or `error`."""
    async for item in items:
        if isinstance(item, Progress):
            yield event({"text": item.text}, "partial")
        elif isinstance(item, Refusal):
            yield event(error(item).value, "error")
        else:
            yield event({"format": FORMAT, "document": item["document"]}, "done")


async def fill(service: Service, call: Call) -> Reply:
    """The document of a text whose masks are filled in."""
    asked = call.read(Text)
    document = await service.of_model(call.client, asked.model, "fill", asked.text)
    return Reply({"format": FORMAT, "document": document})


async def text_head(service: Service, call: Call) -> Reply:
    """The weights of one head of a text."""
    asked = call.read(TextHead)
    options = asked.model_dump(include={"kind", "layer", "head"})
    matrix = await service.of_model(call.client, asked.model, "text_head", asked.text, options)
    return Reply({"format": FORMAT, "matrix": matrix})


async def frame(service: Service, call: Call) -> Reply:
    """The page."""
    return _static("index.html", FRAME)


async def static(service: Service, call: Call) -> Reply:
    """A file of the page."""
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
    Route("GET", "/", OWN, frame, Content(FRAME), public=True, counted=False),
    Route("GET", "/page/{name}", OWN, static, Content("*/*"), public=True, counted=False),
    Route("POST", "/api/v1/page/explain", OWN, explain, Explained, form=Explain),
    Route("POST", "/api/v1/page/head", OWN, head, Matrix, form=Head),
    Route("POST", "/api/v1/page/look_up", OWN, look_up, LookUps, form=LookUp),
    Route("POST", "/api/v1/page/measures", OWN, measures, Measures, form=Explain),
    Route("POST", "/api/v1/page/layers", OWN, layers, Layers, form=Explain),
    Route("POST", "/api/v1/page/patch", OWN, patch, Patching, form=Patch),
    Route("POST", "/api/v1/page/snapshots", OWN, snapshots, Snapshots, form=Named),
    Route("POST", "/api/v1/page/file", OWN, file, Content(FRAME), form=File),
    Route("POST", "/api/v1/page/write", OWN, write, Content("text/event-stream"), form=Write),
    Route("POST", "/api/v1/page/fill", OWN, fill, Explained, form=Text),
    Route("POST", "/api/v1/page/text_head", OWN, text_head, Matrix, form=TextHead),
)
