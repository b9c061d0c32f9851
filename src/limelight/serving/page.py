"""The page at `/`, its files, and explanations of translations: thin routes over `pipelines/explain.py`."""

import asyncio
from contextlib import suppress
from functools import partial
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import Field

from limelight.errors import UserError
from limelight.serving.call import Call, JsonObject, Response, Strict
from limelight.serving.dialects.own import API, FORMAT, Directed, Sampling, events_of
from limelight.serving.events import streamed
from limelight.serving.pool import Partial
from limelight.serving.refusal import Refusal
from limelight.serving.service import Ask
from limelight.storage.layout import FIRST_LOOK, find_model
from limelight.untrusted import read_plain

CHARACTERS = 2000
"""Maximum characters of a sentence that is explained."""
MAX_FIRST_LOOK = 2_000_000
MAX_SNAPSHOTS = 16
"""In a file."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""No script but the page's own files, none in its markup, and no connection but to this service."""
MEDIA_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
FRAME = "text/html; charset=utf-8"
Text = Annotated[str, Field(max_length=CHARACTERS)]
Ids = Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=1000)]


class Explain(Directed):
    """A sentence, and what is to be shown of it."""

    text: Text = Field(min_length=1)
    """One sentence."""
    prefix: Ids = Field([])
    """Tokens that the translation begins with."""
    forced: str = Field("", max_length=500)
    """Text with which it goes on after `prefix`."""
    target: Ids | None = None
    """Tokens of a translation to inspect instead of the model's own."""
    off: dict[str, list[int]] = Field({})
    """Heads of a Transformer that are switched off: `decoder.0.cross: [1]`."""
    snapshot: int | None = Field(None, ge=0)
    """The model after this number of updates, instead of the best one."""

    async def answer(self, call: Call, what: str) -> Any:
        """The answer of an engine. Raises `Refusal`."""
        bounds = {"beam_size": self.beam_size, "prefix": "".join(getattr(self, "lines", ()))}  # lines are read, too
        ask = Ask([self.text], self.target_lang, self.source_lang, self.model, bounds)
        options = self.model_dump(exclude={"text", "source_lang", "target_lang", "model"}, exclude_none=True)
        return await call.service.view(call.client, ask, what, options)


class OfHead(Strict):
    """The position of a head."""

    kind: str
    layer: int = Field(ge=0)
    head: int = Field(ge=0)


class Head(OfHead, Explain):
    """One head."""


class Inside(Explain):
    """One layer at one position."""

    side: Literal["encoder", "decoder"]
    layer: int = Field(ge=0)
    place: int = Field(ge=0)


class Step(Explain):
    """One target position."""

    row: int = Field(ge=0)


class Similar(Explain):
    """A source word, and the text to search."""

    layer: int = Field(ge=0)
    word: int = Field(ge=0)
    lines: list[Text] = Field(max_length=200)
    """Sentences of the source language."""


class LookUp(Head):
    """One computation of attention."""

    row: int = Field(ge=0)


class Named(Strict):
    """A model, whatever its task."""

    model: str = Field(max_length=200)
    text: Text = ""

    async def answer(self, call: Call, what: str, shown: Partial | None = None) -> Any:
        """The answer of an engine; `shown` is called while a text grows. Raises `Refusal`."""
        options = self.model_dump(exclude={"model", "text"})
        ask = Ask([self.text], model=self.model)
        return await call.service.view(call.client, ask, what, options, shown, translates=False)


class Masked(Named):
    """A text with masks."""

    text: Text


class TextHead(OfHead, Masked):
    """One head of a text."""


VIEWS: dict[str, tuple[type[Explain] | type[Masked], str, str]] = {
    "explain": (Explain, "document", "The document of a translation: docs/schema/page-1.json."),
    "head": (Head, "matrix", "The weights of one head."),
    "look_up": (LookUp, "look_up", "The numbers of one computation of attention."),
    "measures": (Explain, "measures", "Erasure and contributions."),
    "layers": (Explain, "layers", "The translation from each encoder layer, and tokens of decoder layers."),
    "map": (Explain, "map", "The stages of the model, with the norms of the vectors of a sentence."),
    "inside": (Inside, "inside", "The vectors of one layer at one position."),
    "distribution": (Step, "log_probabilities", "Log-probabilities of all tokens at a position."),
    "similar": (Similar, "similar", "Words of other sentences that the encoder represents alike."),
    "fill": (Masked, "document", "The document of a text whose masks are filled in."),
    "text_head": (TextHead, "matrix", "The weights of one head of a text."),
}
"""By what the engine is asked: fields of the request, field of the answer, and a description."""


def _add_view(what: str, form: type[Explain] | type[Masked], field: str, description: str) -> None:
    async def view(call: Call, form: Any) -> JsonObject:
        return {"format": FORMAT, field: await form.answer(call, what)}

    view.__doc__ = description
    view.__annotations__["form"] = form
    API.route(f"/api/v1/page/{what}", "POST")(view)


for what, given in VIEWS.items():
    _add_view(what, *given)


# ---- the page


@API.route("/", public=True, counted=False)
async def frame(call: Call) -> Response:
    """The page."""
    return _static("index.html", FRAME)


@API.route("/page/{name}", public=True, counted=False)
async def static(call: Call) -> Response:
    """A file of the page."""
    name = call.path["name"]
    media_type = MEDIA_TYPES.get(name.rpartition(".")[2])
    if media_type is None or name not in {path.name for path in files("limelight.page").iterdir()}:
        raise Refusal(404, "not_found", "there is nothing at this path")
    return _static(name, media_type)


@API.route("/api/v1/page/first", counted=False)
async def first(call: Call) -> Response:
    """The document that is stored with the first model, which the page shows while it loads; null if there is none."""
    content = b"null"
    with suppress(UserError, OSError):  # no model, which the log names; no file, or one that is too large
        content = read_plain(find_model(call.service.catalog.models[0].folder) / FIRST_LOOK, MAX_FIRST_LOOK)
    return Response(content, media_type="application/json")


def _static(name: str, media_type: str) -> Response:
    content = (files("limelight.page") / name).read_bytes()
    return Response(content, headers={"Content-Security-Policy": POLICY}, media_type=media_type)


class File(Explain):
    """A file for download."""

    theme: Literal["dark", "light"] = "dark"
    state: str = Field("", max_length=4000)
    """The fragment of the page's address: what is open."""
    beside: list[str] = Field([], max_length=3)
    """Models whose maps stand beside this one."""
    training: bool = False
    """Whether to include the snapshots of the model's run."""

    def plain(self, **changed: Any) -> Explain:
        """The same sentence without anything forced or switched off."""
        kept = self.model_dump(include={"text", "source_lang", "target_lang", "model", "beam_size"})
        return Explain(**{**kept, **changed})


@API.route("/api/v1/page/file", "POST")
async def file(call: Call, form: File) -> Response:
    """The document as one HTML file that works without a server."""
    from limelight.inspection.standalone import standalone_page  # with torch, which only this needs

    document = await form.answer(call, "whole")
    if form.state:
        document["state"] = form.state
    if form.prefix or form.forced or form.off:
        before = await form.plain(snapshot=form.snapshot, target=form.target).answer(call, "explain")
        document["before"] = before["translation"]
    if form.beside:
        document["beside"] = [await form.plain(model=name).answer(call, "heads") for name in form.beside]
    if form.training:
        snapshots = await Named(model=form.model or document["model"]).answer(call, "snapshots")
        known = snapshots["updates"]
        count = min(len(known), MAX_SNAPSHOTS)
        updates = [known[(number + 1) * len(known) // count - 1] for number in range(count)]
        documents = {str(number): await form.plain(snapshot=number).answer(call, "heads") for number in updates}
        document["training"] = {"updates": updates, "curve": snapshots["curve"], "documents": documents}
    text = await asyncio.to_thread(standalone_page, document, theme=form.theme)
    headers = {"Content-Disposition": 'attachment; filename="limelight.html"', "Content-Security-Policy": "sandbox"}
    return Response(text, headers=headers, media_type=FRAME)


@API.route("/api/v1/page/snapshots", "POST")
async def snapshots(call: Call, form: Named) -> JsonObject:
    """The updates of a run after which it has snapshots, and the curve of its validations by `update`."""
    return {"format": FORMAT, **await form.answer(call, "snapshots")}


class Write(Masked):
    """A text to write on."""

    max_tokens: int = Field(40, ge=1, le=100)
    sampling: Sampling | None = None
    """How to draw; if omitted, the most probable tokens are searched for."""


@API.route("/api/v1/page/write", "POST")
async def write(call: Call, form: Write) -> Response:
    """Continue a text, as server-sent events with its document at the end."""
    done = events_of(lambda document: {"format": FORMAT, "document": document})
    return await streamed(call.service.log, partial(form.answer, call, "write"), done)
