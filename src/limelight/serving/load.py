"""A model folder becomes a worker, in whatever thread or process is to own it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from limelight.config.directions import UNNAMED
from limelight.pipelines.load import load_translator
from limelight.serving.tasks import Report
from limelight.serving.worker import Worker
from limelight.storage.detector import read_detector
from limelight.storage.layout import DETECTOR, find_model


@dataclass(frozen=True, slots=True)
class Loading:
    """Which model, and what it is computed with. What is None is chosen as everywhere else in Limelight."""

    folder: str
    device: str | None = None
    precision: str | None = None
    threads: int = 1
    """Of one engine."""
    shortlist: bool = False
    name: str = ""
    """What it is served as: answers never show a path."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self)


def load_worker(loading: Loading, send: Callable[[Report], None]) -> Worker:
    """The worker, and the report that it is there. The calling thread computes with so many threads from now on.

    Raises `UserError` for a folder that holds no translator, and as `load_translator` does.
    """
    import torch

    from limelight.models.build import choose_device

    torch.set_num_threads(loading.threads)
    device = choose_device(loading.device or "auto", setting="--device ")
    translator = load_translator(loading.folder, device, precision=loading.precision, shortlist=loading.shortlist)
    translator.name = loading.name
    detector = read_detector(find_model(loading.folder) / DETECTOR)
    worker = Worker(translator, send, detector)
    directions = [list(each) for each in translator.directions if each.source != UNNAMED["source"]]
    send(Report(0, "loaded", {"directions": directions, "decoding": translator.config.model_dump(mode="json")}))
    return worker
