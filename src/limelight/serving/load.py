"""A model folder becomes a worker, in whatever thread or process is to own it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from limelight.config.directions import UNNAMED
from limelight.errors import UserError
from limelight.pipelines.load import load
from limelight.pipelines.snapshots import Snapshots
from limelight.pipelines.translator import Translator
from limelight.serving.tasks import Report
from limelight.serving.text_worker import TextWorker
from limelight.serving.warm_up import warm_up
from limelight.serving.worker import Worker
from limelight.serving.workers import Workers
from limelight.storage.layout import DETECTOR, find_model
from limelight.storage.tables import read_detector
from limelight.text.translation_memory import WatchedMemory


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
