"""The page at `/`, its files, and what it asks for: thin routes over `pipelines/explain.py`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import files
from typing import Annotated, Any

from pydantic import Field
from starlette.responses import Response

from limelight.errors import UserError
from limelight.serving.asks import Ask
from limelight.serving.call import Call, Events, Strict, content, plain
from limelight.serving.dialects.events import Following, Progress, event, following
from limelight.serving.dialects.own import API, CHARACTERS, FORMAT, Directed, Formatted, Sampling, failure
from limelight.serving.refusal import Refusal, bad_request

MAX_IDS = 1000
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
Document = Annotated[dict[str, Any], Field(description="A part of `docs/schema/page-1.json`.")]


class Explain(Directed):
    """A sentence, and what is to be shown of it."""

    text: str = Field(description="One sentence.")
    prefix: Ids = Field([], description="Target tokens with which the translation begins.")
    forced: str = Field("", max_length=MAX_FORCED, description="Text with which it goes on after `prefix`.")
    target: Ids | None = Field(None, description="Target tokens to inspect instead of those of a search.")
    off: dict[str, list[int]] = Field({}, description="Heads that are switched off: `decoder.0.cross: [1]`.")
    temperature: dict[str, dict[int, float]] = Field({}, description="Of single heads: `decoder.0.cross: {1: 0.5}`.")
    snapshot: int | None = Field(None, ge=0, description="The model after so many updates, instead of the best one.")

    async def answer(self, call: Call, what: str) -> Any:
        """The answer of an engine. Raises `Refusal`."""
        left = {"text", "source_lang", "target_lang", "model", "theme", "beside", "training", "state", "patched"}
        ask = Ask([self.text], self.target_lang, self.source_lang, self.model, {"beam_size": self.beam_size})
        return await call.service.inspect(call.client, ask, what, self.model_dump(exclude=left, exclude_none=True))


class Head(Explain):
    """One head."""

    kind: str
    layer: int = Field(ge=0)
    head: int = Field(ge=0)


class LookUp(Head):
    """One computation of attention."""

    row: int = Field(ge=0)


class Patch(Explain):
    """Patching between two sentences."""

    other: str = Field(max_length=CHARACTERS, description="Another sentence, with as many tokens.")


class File(Explain):
    """A file for download."""

    theme: str = "dark"
    state: str = Field("", max_length=MAX_STATE, description="The fragment of the page's address: what is open.")
    beside: list[str] = Field([], max_length=MAX_BESIDE, description="Models whose maps stand beside this one.")
    patched: tuple[str, str] | None = Field(None, description="Two sentences for the view Patching.")
    training: bool = Field(False, description="Whether to include the snapshots of the model's run.")

    def plain(self, **changed: Any) -> Explain:
        """The same sentence without anything forced or switched off."""
        kept = self.model_dump(include={"text", "source_lang", "target_lang", "model", "beam_size"})
        return Explain(**{**kept, **changed})


class Named(Strict):
    """A model."""

    model: str = Field(max_length=200)


class Text(Named):
    """A text with masks."""

    text: str = Field(max_length=CHARACTERS)


class Write(Text):
    """A text to write on."""

    max_tokens: int = Field(40, ge=1, le=MAX_WRITTEN)
    sampling: Sampling | None = Field(
        None, description="How to draw; if omitted, the most probable tokens are searched for."
    )


class TextHead(Text):
    """One head of a text."""

    kind: str
    layer: int = Field(ge=0)
    head: int = Field(ge=0)


class Explained(Formatted):
    """The document of the page."""

    document: Document


class Matrix(Formatted):
    """The weights of one head."""

    matrix: Any


class LookUps(Formatted):
    """The numbers of one computation of attention."""

    look_up: Document


class Measures(Formatted):
    """What weights do not say: erasure, contributions, and shares of source and prefix."""

    measures: Document


class Layers(Formatted):
    """What can be read from each layer."""

    layers: Any


class Patching(Formatted):
    """What returns of one sentence when its vectors are put into another."""

    patching: Document


class Snapshots(Formatted):
    """The snapshots of a run."""

    updates: list[int] = Field(description="After how many updates they were taken.")
    curve: list[dict[str, float]] = Field(description="The validations of the run, by `update`.")


@API.get("/", public=True, counted=False, media_type=FRAME)
async def frame(call: Call) -> Response:
    """The page."""
    return _static("index.html", FRAME)


@API.get("/page/{name}", public=True, counted=False, media_type="*/*")
async def static(call: Call) -> Response:
    """A file of the page."""
    name = call.path["name"]
    media_type = MEDIA_TYPES.get(name.rpartition(".")[2])
    if media_type is None or name not in {path.name for path in files("limelight.page").iterdir()}:
        raise Refusal(404, "not_found", "there is nothing at this path")
    return _static(name, media_type)


def _static(name: str, media_type: str) -> Response:
    return content((files("limelight.page") / name).read_bytes(), media_type, Content_Security_Policy=POLICY)


@API.post("/api/v1/page/explain")
async def explain(call: Call, asked: Explain) -> Explained:
    """The document of a translation: docs/schema/page-1.json."""
    return Explained(format=FORMAT, document=await asked.answer(call, "explain"))


@API.post("/api/v1/page/head")
async def head(call: Call, asked: Head) -> Matrix:
    """The weights of one head."""
    return Matrix(format=FORMAT, matrix=await asked.answer(call, "head_weights"))


@API.post("/api/v1/page/look_up")
async def look_up(call: Call, asked: LookUp) -> LookUps:
    """The numbers of one computation of attention."""
    return LookUps(format=FORMAT, look_up=await asked.answer(call, "look_up"))


@API.post("/api/v1/page/measures")
async def measures(call: Call, asked: Explain) -> Measures:
    """Erasure, contributions, and shares of source and prefix."""
    return Measures(format=FORMAT, measures=await asked.answer(call, "measures"))


@API.post("/api/v1/page/patch")
async def patch(call: Call, asked: Patch) -> Patching:
    """The effects of patching between two sentences."""
    return Patching(format=FORMAT, patching=await asked.answer(call, "patch"))


@API.post("/api/v1/page/layers")
async def layers(call: Call, asked: Explain) -> Layers:
    """The translation from each encoder layer, and the predictions of each decoder layer."""
    return Layers(format=FORMAT, layers=await asked.answer(call, "layers"))


@API.post("/api/v1/page/file", media_type=FRAME)
async def file(call: Call, asked: File) -> Response:
    """The document as one HTML file that works without a server."""
    from limelight.inspection.standalone import require_theme, standalone_page  # with torch, which only this needs

    try:
        require_theme(asked.theme)
    except UserError as mistake:
        raise bad_request(str(mistake)) from None
    document = await asked.answer(call, "explain_whole")
    if asked.state:
        document["state"] = asked.state
    if asked.prefix or asked.forced or asked.off or asked.temperature:
        before = await asked.plain(snapshot=asked.snapshot).answer(call, "explain")
        document["before"] = before["translation"]
    if asked.patched:
        first, other = asked.patched
        pair = Patch(other=other, **asked.plain(text=first).model_dump(exclude_unset=True))
        document["patching"] = await pair.answer(call, "patch")
    if asked.beside:
        document["beside"] = [await asked.plain(model=name).answer(call, "explain_heads") for name in asked.beside]
    if asked.training:
        document["training"] = await _training(call, asked)
    text = await asyncio.to_thread(standalone_page, document, theme=asked.theme)
    return content(
        text.encode(),
        FRAME,
        Content_Disposition='attachment; filename="limelight.html"',
        Content_Security_Policy="sandbox",
    )


async def _training(call: Call, asked: File) -> dict[str, Any]:
    """The curve, and the document of each snapshot; of many of them so many that are spread evenly."""
    found = await call.service.of_model(call.client, asked.model, "snapshots")
    updates = found["updates"]
    count = min(len(updates), MAX_SNAPSHOTS)
    chosen = [updates[(each + 1) * len(updates) // count - 1] for each in range(count)]
    documents = {str(update): await asked.plain(snapshot=update).answer(call, "explain_heads") for update in chosen}
    return {"updates": chosen, "curve": found["curve"], "documents": documents}


@API.post("/api/v1/page/snapshots")
async def snapshots(call: Call, asked: Named) -> Snapshots:
    """The snapshots of a model's run, and the curve of its validations."""
    return Snapshots(format=FORMAT, **await call.service.of_model(call.client, asked.model, "snapshots"))


@API.post("/api/v1/page/write", media_type="text/event-stream")
async def write(call: Call, asked: Write) -> Events:
    """Continue a text, as server-sent events with its document at the end."""
    options = {"max_tokens": asked.max_tokens, "sampling": asked.sampling and asked.sampling.model_dump()}
    begun = await following(
        call.service, lambda shown: call.service.of_model(call.client, asked.model, "write", asked.text, options, shown)
    )
    return Events(_events(begun), begun.close)


async def _events(items: Following) -> AsyncIterator[str]:
    """`partial` while the text grows; then `done` with the document, or `error`."""
    async for item in items:
        if isinstance(item, Progress):
            yield event({"text": item.text}, "partial")
        elif isinstance(item, Refusal):
            yield event(plain(failure(item)), "error")
        else:
            yield event({"format": FORMAT, "document": item["document"]}, "done")


@API.post("/api/v1/page/fill")
async def fill(call: Call, asked: Text) -> Explained:
    """The document of a text whose masks are filled in."""
    document = await call.service.of_model(call.client, asked.model, "fill", asked.text)
    return Explained(format=FORMAT, document=document)


@API.post("/api/v1/page/text_head")
async def text_head(call: Call, asked: TextHead) -> Matrix:
    """The weights of one head of a text."""
    options = asked.model_dump(include={"kind", "layer", "head"})
    return Matrix(
        format=FORMAT, matrix=await call.service.of_model(call.client, asked.model, "text_head", asked.text, options)
    )
