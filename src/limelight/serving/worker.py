"""The process of an engine: it loads a model, warms it up, and works on tasks."""

import sys
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from limelight.child import Inbox, Send
from limelight.config import load_config
from limelight.decoding.ahead import compile_aside
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError, fault_of, shown
from limelight.formats.translation_memory import open_memories
from limelight.memory import hold_memory_for_work, rare_collections
from limelight.models.families import choose_device
from limelight.pipelines.encoders import MaskFiller
from limelight.pipelines.explain_text import explain_filled, explain_written
from limelight.pipelines.generator import TextGenerator
from limelight.pipelines.load import load
from limelight.pipelines.options import TextOptions
from limelight.pipelines.scheduler import SWITCH
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translator import Translator
from limelight.preparation.kept import validation_sentences
from limelight.serving.engine import Engine, TextEngine, TranslationEngine
from limelight.serving.links import Loading, Report, ReportCallback
from limelight.serving.logs import Log, log_warnings
from limelight.storage.layout import CONFIG, find_model
from limelight.text.glossary import Glossary, Term

SENTENCE = "A dog runs to the house."
LONG_SENTENCE = " ".join([SENTENCE[:-1]] * 20)
"""More tokens than the kernels for short sentences take."""
FORMS: tuple[tuple[str, TextOptions], ...] = (
    (SENTENCE, {}),
    (SENTENCE, {"beam_size": 1}),
    (SENTENCE, {"sampling": Sampling(top_k=5, seed=1)}),
    (SENTENCE, {"glossary": Glossary([Term("house", "house")])}),
    (" ".join([LONG_SENTENCE, *[SENTENCE] * 4]), {"beam_size": 4, "n_best": 2}),
)
"""Every kind of search, a sentence with a term, and a long one in a batch."""


def warm_up(translator: Translator) -> None:
    """Translate something before an engine reports that it is ready: kernels are compiled at their first call (up to a
    minute on a slow CPU without a cache of them), and weights are read from disk at their first use."""
    source, target = translator.directions[0].languages if translator.directions else ("", "")
    for text, options in FORMS:
        search_options: TextOptions = {**options, "source_lang": source, "target_lang": target}
        with suppress(UserError):  # a model without placeholders takes no terms
            translator.translate(text, **search_options)


def load_engine(loading: Loading, send: ReportCallback) -> Engine:
    """The engine, which has reported that it is loaded, once it is warm. The calling thread computes with so many
    threads from now on.

    Raises `UserError` for a folder that holds no model, for a classifier, and as `load` does.
    """
    torch.set_num_threads(loading.threads)
    device = choose_device(loading.device or "auto")
    pipeline = load(loading.folder, device, precision=loading.precision, shortlist=loading.shortlist)
    if isinstance(pipeline, Translator):
        return _translating(pipeline, loading, device, send)
    if not isinstance(pipeline, TextGenerator | MaskFiller):
        raise UserError(f"{loading.folder}: a classifier is not served; use it with `limelight classify`")
    use = "generate" if isinstance(pipeline, TextGenerator) else "fill"
    with suppress(UserError):  # the sentence is longer than the positions of the model
        if isinstance(pipeline, TextGenerator):
            [written] = pipeline.generate(SENTENCE, max_tokens=4)
            explain_written(pipeline, written)
        else:
            explain_filled(pipeline, SENTENCE)
    send(Report(0, "loaded", {"use": use}))
    return TextEngine(pipeline, send, loading.name)


def _translating(translator: Translator, loading: Loading, device: torch.device, send: ReportCallback) -> Engine:
    translator.name = loading.name
    snapshots = Snapshots(loading.folder, loading.name, device)
    name, directions = shown(Path(loading.memory).name), translator.directions  # without the folder: clients read it
    memory = open_memories(loading.memory, directions, name=name, say=warnings.warn) if loading.memory else None
    warm_up(translator)
    known = description(translator, pivot=loading.pivot, snapshots=len(snapshots.updates))
    valid = load_config(find_model(loading.folder) / CONFIG).data.valid
    send(Report(0, "loaded", known | {"examples": validation_sentences(Path(loading.folder), valid)}))
    return TranslationEngine(translator, send, snapshots, memory)


def description(translator: Translator, *, pivot: bool = True, snapshots: int = 0) -> dict[str, Any]:
    """What the service needs to know of a model."""
    return {
        "use": "translate",
        "directions": [direction for direction in translator.directions if direction.languages[0]],
        "pivots": [
            [pair.source, between, pair.target] for pair, between in (translator.pivots.items() if pivot else ())
        ],
        "decoding": translator.config.model_dump(mode="json"),
        "snapshots": snapshots,
        "formality": [
            direction.target for direction in translator.directions if translator.has_formality(direction.target)
        ],
    }


def work(inbox: Inbox, send: Send, loading: Loading) -> None:
    """In the process of an engine: serve one model until the service says that it is to end."""

    def report(report: Report) -> None:
        send({"report": report})

    hold_memory_for_work()
    sys.setswitchinterval(SWITCH)
    log = Log()
    log_warnings(log)
    if loading.device in (None, "auto", "cpu"):
        compile_aside(lambda message: log("compiling", message=message))
    try:
        with warnings.catch_warnings():  # of a model and a memory; no text of a client is known yet
            warnings.showwarning = lambda message, *_, **__: log("warning", message=str(message))
            engine = load_engine(loading, report)
        with rare_collections():
            engine.run(inbox)
    except Exception as error:
        reason = fault_of(error).encode(errors="replace").decode()  # the names of files are any bytes
        report(Report(0, "closed", reason))
