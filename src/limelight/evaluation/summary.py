"""Provenance of figures, scores by source length, and explanations of scores."""

import json
import platform
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from typing import Any

from limelight.errors import UserError
from limelight.evaluation.metrics import References, corpus_bleu, corpus_chrf
from limelight.text.pair import Pair
from limelight.text.words import count_words


class Figures(ABC):
    """The result of an evaluation."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)


def files_of(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The files of a test set, and how many pairs they hold."""
    return {"test_files": list(dict.fromkeys(pair.file for pair in pairs)), "pairs": len(pairs)}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that computed the figures."""
    names = {"python": platform.python_version()}
    for package in ("limelight", "torch", "sacrebleu"):
        try:
            names[package] = version(package)
        except PackageNotFoundError:
            names[package] = "not installed, run from its sources"
    return names


def provenance_lines(provenance: Mapping[str, Any]) -> list[str]:
    """The provenance as lines of text, one per entry."""
    lines = []
    for name, value in provenance.items():
        entries = [f"{key} {each}" for key, each in value.items()] if isinstance(value, Mapping) else value
        listed = ", ".join(map(str, entries)) if isinstance(entries, (list, tuple)) else entries
        lines.append(f"{name}: {listed}")
    return lines


UPPER_EDGES = (5, 10, 15, 20, 30)


@dataclass(frozen=True, slots=True)
class LengthBucket:
    """The sentences whose source has `shortest` to `longest` words, both included."""

    shortest: int
    longest: int | None
    """None for no upper bound."""
    sentences: int
    bleu: float | None
    """None if there are no sentences. BLEU of few sentences is unreliable."""
    chrf: float | None

    @property
    def label(self) -> str:
        """`6-10`, `31+`, or `0` for empty sources."""
        if self.longest is None:
            return f"{self.shortest}+"
        return f"{self.shortest}-{self.longest}" if self.shortest < self.longest else str(self.shortest)


def score_by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenize: str = "13a",
    upper_edges: Sequence[int] = UPPER_EDGES,
) -> tuple[LengthBucket, ...]:
    """BLEU and chrF of sentences grouped by source length; every sentence is in exactly one bucket.

    A bucket ends at each of `upper_edges`, the last has no upper bound; empty sources get a bucket if there are any.

    Raises `UserError` for edges that do not increase from at least 1.
    """
    if any(low >= high for low, high in pairwise((0, *upper_edges))):
        raise UserError(f"length buckets must rise from at least 1, these do not: {list(upper_edges)}")
    lengths = [count_words(source) for source in sources]
    limits: list[tuple[int, int | None]] = [(0, 0)] if 0 in lengths else []
    limits += zip((1, *(edge + 1 for edge in upper_edges)), (*upper_edges, None), strict=True)
    buckets = []
    for shortest, longest in limits:
        rows = [
            row for row, words in enumerate(lengths) if shortest <= words <= (words if longest is None else longest)
        ]
        texts, expected = [hypotheses[row] for row in rows], [references[row] for row in rows]
        bleu = corpus_bleu(texts, expected, tokenize=tokenize).score if rows else None
        chrf = corpus_chrf(texts, expected).score if rows else None
        buckets.append(LengthBucket(shortest, longest, len(rows), bleu, chrf))
    return tuple(buckets)


_STEPS = (
    (60, "translations are very close to the references; make sure that the model was not trained on this text"),
    (40, "translations are mostly good, and close to the references"),
    (30, "translations can usually be understood, with errors"),
    (20, "the gist of a translation is often clear, with many errors"),
    (10, "the topic of a sentence can often be recognized, what it says often not"),
    (0, "most translations are of little use"),
)
"""Minimum BLEU and its interpretation, following Google's documentation of AutoML Translation."""
_IN_WORDS = ("13a", "intl", "zh", "ja-mecab", "ko-mecab", "none")
"""Tokenizations with scores on that scale; BLEU over characters or subwords is higher."""
FEW, SMALL_TEST_SET = 100, 500
"""Numbers of sentences: below `FEW` a score may be off by several points; `SMALL_TEST_SET` is a usual minimum."""
UNFINISHED_SHARE = 0.05


def summarize_translation(bleu: float, *, tokenize: str, sentences: int, unfinished: int) -> str:
    """An explanation of a BLEU score from 0 to 100, in lines of text."""
    if tokenize in _IN_WORDS:
        meaning = next(text for least, text in _STEPS if bleu >= least)
        lines = [f"In short: at BLEU {bleu:.1f}, {meaning}. This is a rule of thumb."]
    else:
        lines = [f"In short: this BLEU counts smaller units than words ({tokenize}) and is higher than one of words."]
    lines.append("Read some translations yourself (-o FILE keeps them), and compare scores of the same test set only.")
    if sentences < FEW:
        lines.append(
            f"{sentences:,} sentences are few: the score may be off by several points. Use {SMALL_TEST_SET} or more."
        )
    if unfinished > UNFINISHED_SHARE * sentences:
        lines.append(f"{unfinished:,} translations were cut off at the length limit: look for repeated words in them.")
    return "\n".join(lines)
