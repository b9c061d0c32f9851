"""Snapshots of a run at several updates, and its validation curve."""

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.storage.layout import BEST, find_snapshots

MAX_LOADED = 3
"""Maximum number of snapshots that are kept in memory."""
FIGURES = ("loss", "bleu", "chrf")
LOG = "log.jsonl"


class Snapshots:
    """The snapshots of a run (`training.keep_snapshots`), loaded on demand.

    Args:
        model: a run, or the best model of one; any other folder has no snapshots.
        name: the name of the models in responses.
        device: the device of the models.
    """

    def __init__(self, model: str | Path, name: str = "", device: torch.device | None = None) -> None:
        folder = Path(model)
        self.run = folder.parent if folder.name == BEST else folder
        self.name, self.device = name, device
        self.at = lru_cache(MAX_LOADED)(self._loaded)
        """The translator of a snapshot by its update, see `_loaded`; the most recently used ones are kept."""

    @property
    def updates(self) -> list[int]:
        """The updates of all snapshots, ascending. A run that is being trained adds further ones."""
        return list(find_snapshots(self.run))

    def _loaded(self, update: int) -> Translator:
        """The translator of the snapshot of `update`. Raises `KeyError` if it does not exist, `UserError` or
        `OSError` if it cannot be read."""
        translator = load_translator(find_snapshots(self.run)[update], self.device)
        translator.name = self.name
        return translator

    def described(self) -> dict[str, Any]:
        """`updates`, and `curve`: of each validation in the run's log its update, loss, BLEU and chrF if measured."""
        return {"updates": self.updates, "curve": validation_curve(self.run / LOG)}


def validation_curve(log: Path) -> list[dict[str, int | float]]:
    """The validations in a `log.jsonl`, in order."""
    curve = []
    for entry in log_entries(log):
        if entry.get("event") == "validation" and isinstance(entry.get("step"), int):
            figures = {name: entry[name] for name in FIGURES if isinstance(entry.get(name), int | float)}
            curve.append({"update": entry["step"], **figures})
    return curve


def log_entries(log: Path) -> Iterator[dict[str, Any]]:
    """The entries of a `log.jsonl`, in order. Damaged lines are skipped; none if the file is missing."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry
