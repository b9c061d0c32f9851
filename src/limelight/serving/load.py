"""A model folder becomes a worker, in whatever thread or process is to own it; and a worker is warmed up."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from queue import SimpleQueue
from typing import Any

from limelight.config.directions import UNNAMED
from limelight.errors import UserError
from limelight.formats.translation_memory import WatchedMemory
from limelight.pipelines.generator import TextGenerator
from limelight.pipelines.load import load
from limelight.pipelines.mask_filler import MaskFiller
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translator import Translator
from limelight.serving.tasks import Report, Task
from limelight.serving.text_worker import TextWorker
from limelight.serving.worker import Worker
from limelight.serving.workers import Workers
from limelight.storage.layout import DETECTOR, find_model
from limelight.storage.tables import read_detector

SENTENCE = "A dog runs to the house."

LONG = " ".join([SENTENCE[:-1]] * 20)
"""More tokens than the kernels for short sentences take."""

FORMS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("translate", SENTENCE, {}),
    ("translate", SENTENCE, {"beam_size": 1}),
    ("translate", SENTENCE, {"beam_size": 4, "n_best": 2}),
    ("translate", SENTENCE, {"sampling": {"top_k": 5, "seed": 1}}),
    ("protected", SENTENCE, {"terms": [("house", "house")]}),
    ("translate", LONG, {"beam_size": 4, "n_best": 2}),
)
"""Every kind of search, a sentence with a term, and a long one."""


def warm_up(pipeline: Translator | TextGenerator | MaskFiller) -> None:
    """Do each kind of work once, before an engine reports that it is ready: kernels are compiled at their first call
    (up to a minute on a slow CPU without a cache of them), and weights are read from disk at their first use. Results
    and errors are discarded."""
    if isinstance(pipeline, Translator):
        source, target = pipeline.directions[0] if pipeline.directions else ("", "")
        languages = {"source_lang": source, "target_lang": target}
        tasks = [(kind, text, {**languages, **options}) for kind, text, options in FORMS]
    elif isinstance(pipeline, TextGenerator):
        tasks = [("write", SENTENCE, {"max_tokens": 4})]
    else:
        tasks = [("fill", SENTENCE, {})]
    # The first one alone, as on a service that has little to do; the others side by side.
    _done(pipeline, tasks[:1])
    _done(pipeline, tasks[1:])


def _done(pipeline: Translator | TextGenerator | MaskFiller, tasks: list[tuple[str, str, dict[str, Any]]]) -> None:
    if not tasks:
        return
    inbox: SimpleQueue[Task | None] = SimpleQueue()
    left = len(tasks)

    def heard(report: Report) -> None:
        nonlocal left
        left -= report.kind != "partial"
        if not left:
            inbox.put(None)

    for number, task in enumerate(tasks):
        inbox.put(Task(number, *task))
    worker = Worker(pipeline, heard) if isinstance(pipeline, Translator) else TextWorker(pipeline, heard)
    worker.run(inbox)


@dataclass(frozen=True, slots=True)
class Loading:
    """Which model, and what it is computed with. What is None is chosen as everywhere else in Limelight."""

    folder: str
    device: str | None = None
    precision: str | None = None
    threads: int = 1
    """CPU threads of one engine."""
    shortlist: bool = False
    pivot: bool = True
    """Whether it translates through another language what it has no direction for."""
    memory: str = ""
    """A file of segments that were translated before."""
    name: str = ""
    """The name in answers, which never show a path."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)


def load_worker(loading: Loading, send: Callable[[Report], None]) -> Workers | TextWorker:
    """The worker, and the report that it is there, once it is warm. The calling thread computes with so many threads
    from now on.

    Raises `UserError` for a folder that holds no model, for a classifier, and as `load` does.
    """
    import torch

    from limelight.models.families import choose_device

    torch.set_num_threads(loading.threads)
    device = choose_device(loading.device or "auto", setting="--device ")
    found = load(loading.folder, device, precision=loading.precision, shortlist=loading.shortlist)
    if isinstance(found, Translator):
        return _translating(found, loading, device, send)
    uses = {"TextGenerator": "generate", "MaskFiller": "fill"}
    if type(found).__name__ not in uses:
        raise UserError(f"{loading.folder}: a classifier is not served; use it with `limelight classify`")
    worker = TextWorker(found, send, loading.name)
    warm_up(found)
    send(Report(0, "loaded", {"use": uses[type(found).__name__]}))
    return worker


def _translating(found: Translator, loading: Loading, device: Any, send: Callable[[Report], None]) -> Workers:
    found.name = loading.name
    detector = read_detector(find_model(loading.folder) / DETECTOR)
    snapshots = Snapshots(loading.folder, loading.name, device)
    memory = WatchedMemory(loading.memory, found.directions, warnings.warn) if loading.memory else None
    worker = Workers(lambda report: Worker(found, report, detector, snapshots, memory), send)
    warm_up(found)
    directions = [list(each) for each in found.directions if each.source != UNNAMED["source"]]
    decoding = found.config.model_dump(mode="json")
    told = {"use": "translate", "directions": directions, "decoding": decoding, "snapshots": len(snapshots.updates)}
    told["protects"] = found.knows_placeholders
    told["formality"] = [each.target for each in found.directions if found.has_formality(each.target)]
    pivots = found.pivots.items() if loading.pivot else ()
    told["pivots"] = [[pair.source, between, pair.target] for pair, between in pivots]
    send(Report(0, "loaded", told))
    return worker
