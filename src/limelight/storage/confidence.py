"""What turns log-probabilities into confidence, beside a model that has learned it: `confidence.json`."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from limelight.errors import UserError
from limelight.files import write_whole
from limelight.untrusted import read_plain, shown

FORMAT = 1
MAX_BYTES = 1_000_000
MAX_WEIGHT = 1e6


@dataclass(frozen=True, slots=True)
class Logistic:
    """The probability of something, given some features: `1 / (1 + exp(-(weights . features + bias)))`."""

    weights: tuple[float, ...]
    bias: float
    least: tuple[float, ...] = ()
    """The range of each feature in the text that the weights were fitted on, from `least` to `greatest`. Features are
    clamped to it: far outside, a weight says nothing. Empty in files of earlier versions."""
    greatest: tuple[float, ...] = ()

    def probability(self, features: Sequence[float]) -> float:
        """From 0 to 1. Raises `ValueError` for another number of features."""
        if self.least:
            bounds = zip(features, self.least, self.greatest, strict=True)
            features = [min(high, max(low, each)) for each, low, high in bounds]
        logit = self.bias + sum(weight * each for weight, each in zip(self.weights, features, strict=True))
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


@dataclass(frozen=True, slots=True)
class Confidence:
    """Learned by `evaluation.confidence.fit_examples`; the features are those of `pipelines/confidence.py`."""

    sentence: Mapping[str, Logistic]
    """By direction (`en-de`); that of the name "" is for all others."""
    word: Mapping[str, Logistic]
    """The same for words; empty if the words of a text cannot be matched with tokens, as in Chinese."""

    def of(self, direction: str) -> tuple[Logistic, Logistic | None]:
        """For sentences and, if known, for words of a direction."""
        return self.sentence.get(direction) or self.sentence[""], self.word.get(direction) or self.word.get("")


def save_confidence(path: Path, confidence: Confidence, notes: Mapping[str, Any]) -> None:
    """Write it, with notes on what it was learned from. Raises `RunError` naming path and cause when that fails, and
    `ValueError` for weights that `read_confidence` would refuse."""
    for table in (confidence.sentence, confidence.word):
        _check(table)
    values = {"format": FORMAT, **asdict(confidence), "notes": dict(notes)}
    write_whole(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")


def read_confidence(path: Path, *, sentence: int, word: int) -> Confidence | None:
    """What is in a file; None where there is no file. `sentence` and `word` are the numbers of features.

    Raises `UserError` naming the file where it is damaged, of another format, or for other features.
    """
    if not path.exists():
        return None
    try:
        values = json.loads(read_plain(path, MAX_BYTES).decode("utf-8"))
        if values["format"] != FORMAT:
            raise UserError(f"{path}: format {shown(str(values['format']))}, and this version reads {FORMAT}")
        of_sentence, of_word = _table(values["sentence"], sentence), _table(values["word"], word)
        if "" not in of_sentence or (of_word and "" not in of_word):
            raise ValueError("there is none for all directions")
        return Confidence(of_sentence, of_word)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path}: this is no confidence.json of a model: {shown(str(error))}") from None


def _table(values: Any, features: int) -> dict[str, Logistic]:
    """By direction. Raises `ValueError` for what is no table of finite numbers, `features` weights each."""
    found = {
        str(name): Logistic(
            tuple(map(float, row["weights"])),
            float(row["bias"]),
            tuple(map(float, row.get("least", ()))),
            tuple(map(float, row.get("greatest", ()))),
        )
        for name, row in values.items()
    }
    for name, each in found.items():
        if len(each.weights) != features:
            raise ValueError(f"{name!r} has {len(each.weights)} weights, expected {features}")
    _check(found)
    return found


def _check(table: Mapping[str, Logistic]) -> None:
    """Raises `ValueError` for numbers that are not finite or too large, and for ranges that are not one per weight."""
    for name, each in table.items():
        numbers = (*each.weights, each.bias, *each.least, *each.greatest)
        if not all(abs(number) <= MAX_WEIGHT for number in numbers):
            raise ValueError(f"{name!r} has a weight that is no number from -{MAX_WEIGHT:g} to {MAX_WEIGHT:g}")
        if len(each.least) != len(each.greatest) or len(each.least) not in (0, len(each.weights)):
            raise ValueError(f"{name!r} has {len(each.least)} ranges, expected {len(each.weights)}")
