"""Results as JSON, their provenance, and scores by source length."""

import json
import math
import platform
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, ClassVar

import sacrebleu
import torch

from limelight import __version__
from limelight.evaluation.metrics import corpus_bleu, corpus_chrf
from limelight.text.pair import Pair
from limelight.text.words import words_of


class Figures:
    """The result of an evaluation."""

    NAMES: ClassVar[tuple[str, ...]]
    """The attributes in its JSON."""

    def table(self) -> str:
        """Text for display."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: plain(getattr(self, name)) for name in self.NAMES}

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)


def plain(value: Any) -> Any:
    """A value as JSON has it, with six digits after the point."""
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None  # JSON has no other numbers
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def provenance_of(pairs: Sequence[Pair], origin: Mapping[str, Any] | None = None, **further: Any) -> dict[str, Any]:
    """Where figures come from: what only the caller knows, the files of the test set and how many pairs they hold,
    further values, and versions."""
    files = list(dict.fromkeys(pair.file for pair in pairs))
    return {**(origin or {}), "test_files": files, "pairs": len(pairs), **further, "versions": versions()}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that computed the figures."""
    packages = {"limelight": __version__, "torch": str(torch.__version__), "sacrebleu": sacrebleu.__version__}
    return {"python": platform.python_version(), **packages}


def provenance_lines(provenance: Mapping[str, Any]) -> list[str]:
    """The provenance as lines of text, one per entry."""
    lines = []
    for name, value in provenance.items():
        entries = [f"{key} {item}" for key, item in value.items()] if isinstance(value, Mapping) else value
        listed = ", ".join(map(str, entries)) if isinstance(entries, list | tuple) else entries
        lines.append(f"{name}: {listed}")
    return lines


UPPER_EDGES = (0, 5, 10, 15, 20, 30)
LENGTHS = ("0", "1-5", "6-10", "11-15", "16-20", "21-30", "31+")


@dataclass(frozen=True, slots=True)
class LengthBucket:
    """The sentences whose source has a number of words in a range."""

    words: str
    """One of `LENGTHS`."""
    sentences: int
    bleu: float | None
    """None if there are no sentences. BLEU of few sentences is unreliable."""
    chrf: float | None


def score_by_length(
    sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], *, tokenize: str = "13a"
) -> tuple[LengthBucket, ...]:
    """BLEU and chrF of sentences grouped by source length; every sentence is in exactly one bucket. In scripts without
    spaces each letter counts as a word. Empty sources get a bucket if there are any."""
    rows: dict[str, list[int]] = {words: [] for words in LENGTHS}
    for row, source in enumerate(sources):
        rows[LENGTHS[bisect_left(UPPER_EDGES, len(words_of(source)))]].append(row)
    buckets = []
    for words, chosen in rows.items():
        texts, expected = [hypotheses[row] for row in chosen], [references[row] for row in chosen]
        bleu = corpus_bleu(texts, expected, tokenize=tokenize).score if chosen else None
        chrf = corpus_chrf(texts, expected).score if chosen else None
        if chosen or words != "0":
            buckets.append(LengthBucket(words, len(chosen), bleu, chrf))
    return tuple(buckets)
