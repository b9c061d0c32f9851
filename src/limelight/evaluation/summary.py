"""Provenance of figures, scores by source length, and explanations of scores."""

import json
import platform
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
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
    return [f"{name}: {_listed(value)}" for name, value in provenance.items()]


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


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

    def holds(self, words: int) -> bool:
        """Whether a source with this number of words belongs to the bucket."""
        return self.shortest <= words and (self.longest is None or words <= self.longest)


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
    if any(low >= high for low, high in zip((0, *upper_edges), upper_edges, strict=False)):
        raise UserError(f"length buckets must rise from at least 1, these do not: {list(upper_edges)}")
    lengths = [count_words(source) for source in sources]
    limits: list[tuple[int, int | None]] = [(0, 0)] if 0 in lengths else []
    limits += zip((1, *(edge + 1 for edge in upper_edges)), (*upper_edges, None), strict=True)
    buckets = []
    for shortest, longest in limits:
        bucket = LengthBucket(shortest, longest, 0, None, None)
        chosen = [row for row, words in enumerate(lengths) if bucket.holds(words)]
        buckets.append(
            _scored(bucket, [hypotheses[row] for row in chosen], [references[row] for row in chosen], tokenize)
        )
    return tuple(buckets)


def _scored(bucket: LengthBucket, hypotheses: Sequence[str], references: References, tokenize: str) -> LengthBucket:
    if not hypotheses:
        return bucket
    bleu = corpus_bleu(hypotheses, references, tokenize=tokenize).score
    chrf = corpus_chrf(hypotheses, references).score
    return LengthBucket(bucket.shortest, bucket.longest, len(hypotheses), bleu, chrf)


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


def summarize_labels(accuracy: float, most_frequent: float) -> str:
    """An explanation of the accuracy and of the share of the most frequent label, both in percent."""
    return (
        f"In short: {accuracy:.0f} of 100 texts get the right label. Giving all of them the most frequent label would "
        f"be right for {most_frequent:.0f} of 100."
    )


def summarize_text(bits_per_byte: float) -> str:
    """An explanation of the bits per byte of a language model."""
    return (
        f"In short: the model needs {bits_per_byte:.2f} bits for each byte of this text. Lower is better: 8 is no "
        "knowledge of the text, 0 is perfect prediction."
    )
