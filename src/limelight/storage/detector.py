"""The detector of languages beside a model that translates from several: `languages.safetensors`."""

import json
import math
from pathlib import Path

import numpy as np
import torch

from limelight.errors import UserError
from limelight.storage.weights import read_weights, save_weights
from limelight.text.detection import BUCKETS, LanguageDetector


def save_detector(path: Path, detector: LanguageDetector) -> None:
    """Write it. Raises `RunError` naming path and cause when that fails."""
    notes = {
        "languages": json.dumps(detector.languages),
        "temperature": repr(detector.temperature),
        "alphabet": "".join(sorted(detector.alphabet)),
    }
    save_weights(path, {"scores": torch.from_numpy(detector.scores)}, notes)


def read_detector(path: Path) -> LanguageDetector | None:
    """The detector in a file; None where there is no file. Raises `UserError` naming it where it is damaged."""
    if not path.exists():
        return None
    tensors, notes = read_weights(path, "detector of languages")
    try:
        languages = json.loads(notes["languages"])
        temperature = float(notes["temperature"])
        alphabet = frozenset(notes["alphabet"])
    except (KeyError, ValueError) as error:
        raise UserError(f"{path}: this is no detector of languages: {error}") from None
    if not isinstance(languages, list) or not all(isinstance(each, str) for each in languages) or len(languages) < 2:
        raise UserError(f"{path}: a detector knows at least two languages, this one {languages!r:.80}")
    scores = tensors.get("scores", torch.empty(0))
    if scores.dtype != torch.uint8 or tuple(scores.shape) != (len(languages), BUCKETS) or len(tensors) != 1:
        raise UserError(
            f"{path}: this is no detector of languages: it holds {scores.dtype} of shape {tuple(scores.shape)}, "
            f"expected one tensor of uint8 of shape {(len(languages), BUCKETS)}"
        )
    if not math.isfinite(temperature) or temperature <= 0:
        raise UserError(f"{path}: the temperature of a detector is above 0, not {temperature}")
    return LanguageDetector(tuple(languages), np.asarray(scores.numpy()), temperature, alphabet)
