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
from limelight.serving.call import Call, Strict, content, plain
from limelight.serving.dialects.events import Following, Progress, event, following, streamed
from limelight.serving.dialects.own import API, CHARACTERS, Directed, Formatted, Sampling, failure
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

    text: str
    """One sentence."""
    prefix: Ids = Field([])
    """Target tokens with which the translation begins."""
    forced: str = Field("", max_length=MAX_FORCED)
    """Text with which it goes on after `prefix`."""
    target: Ids | None = None
    """Target tokens to inspect instead of those of a search."""
    off: dict[str, list[int]] = Field({})
    """Heads that are switched off: `decoder.0.cross: [1]`."""
    temperature: dict[str, dict[int, float]] = Field({})
    """Of single heads: `decoder.0.cross: {1: 0.5}`."""
    snapshot: int | None = Field(None, ge=0)
    """The model after so many updates, instead of the best one."""

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

    other: str = Field(max_length=CHARACTERS)
    """Another sentence, with as many tokens."""


class File(Explain):
    """A file for download."""

    theme: str = "dark"
    state: str = Field("", max_length=MAX_STATE)
    """The fragment of the page's address: what is open."""
    beside: list[str] = Field([], max_length=MAX_BESIDE)
    """Models whose maps stand beside this one."""
    patched: tuple[str, str] | None = None
    """Two sentences for the view Patching."""
    training: bool = False
    """Whether to include the snapshots of the model's run."""

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

    async def answer(self, call: Call, what: str) -> Any:
        """The answer of an engine. Raises `Refusal`."""
        options = self.model_dump(exclude={"model", "text"})
        return await call.service.of_model(call.client, self.model, what, self.text, options)


class Write(Text):
    """A text to write on."""

    max_tokens: int = Field(40, ge=1, le=MAX_WRITTEN)
    sampling: Sampling | None = None
    """How to draw; if omitted, the most probable tokens are searched for."""


class TextHead(Text):
    """One head of a text."""

    kind: str
    layer: int = Field(ge=0)
    head: int = Field(ge=0)


class Shown(Formatted):
    """What a view of the page shows: the one of these fields that `VIEWS` names."""

    document: Document = Field({})
    matrix: Any = None
    """The weights of one head."""
    look_up: Document = Field({})
    """The numbers of one computation of attention."""
    measures: Document = Field({})
    """Erasure, contributions, and shares of source and prefix."""
    layers: Any = None
    """What can be read from each layer."""
    patching: Document = Field({})
    """What returns of one sentence when its vectors are put into another."""


VIEWS: dict[str, tuple[type[Explain] | type[Text], str, str, str]] = {
    "explain": (Explain, "explain", "document", "The document of a translation: docs/schema/page-1.json."),
    "head": (Head, "head_weights", "matrix", "The weights of one head."),
    "look_up": (LookUp, "look_up", "look_up", "The numbers of one computation of attention."),
    "measures": (Explain, "measures", "measures", "Erasure, contributions, and shares of source and prefix."),
    "patch": (Patch, "patch", "patching", "The effects of patching between two sentences."),
    "layers": (
        Explain,
        "layers",
        "layers",
        "The translation from each encoder layer, and predictions of each decoder layer.",
    ),
    "fill": (Text, "fill", "document", "The document of a text whose masks are filled in."),
    "text_head": (TextHead, "text_head", "matrix", "The weights of one head of a text."),
}
"""Fields of the request, what the engine is asked, field of the answer, and a description."""


def _add_view(path: str, form: type[Explain] | type[Text], what: str, field: str, description: str) -> None:
    async def view(call: Call, asked: Any) -> Shown:
        return Shown(**{field: await asked.answer(call, what)})

    view.__doc__ = description
    view.__annotations__["asked"] = form
    API.post(f"/api/v1/page/{path}")(view)


for path, given in VIEWS.items():
    _add_view(path, *given)


class Snapshots(Formatted):
    """The snapshots of a run."""

    updates: list[int]
    """After how many updates they were taken."""
    curve: list[dict[str, float]]
    """The validations of the run, by `update`."""


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
    return Snapshots(**await call.service.of_model(call.client, asked.model, "snapshots"))


@API.post("/api/v1/page/write", media_type="text/event-stream")
async def write(call: Call, asked: Write) -> Response:
    """Continue a text, as server-sent events with its document at the end."""
    options = {"max_tokens": asked.max_tokens, "sampling": asked.sampling and asked.sampling.model_dump()}
    begun = await following(
        call.service, lambda shown: call.service.of_model(call.client, asked.model, "write", asked.text, options, shown)
    )
    return streamed(begun, _events(begun))


async def _events(items: Following) -> AsyncIterator[str]:
    """`partial` while the text grows; then `done` with the document, or `error`."""
    async for item in items:
        if isinstance(item, Progress):
            yield event({"text": item.text}, "partial")
        elif isinstance(item, Refusal):
            yield event(plain(failure(item)), "error")
        else:
            yield event({"format": 1, "document": item["document"]}, "done")
