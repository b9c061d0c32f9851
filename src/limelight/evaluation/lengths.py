"""Scores by the length of the source: where a model without attention forgets, and others do not."""

from collections.abc import Sequence
from dataclasses import dataclass

from limelight.errors import UserError
from limelight.evaluation.metrics import References, corpus_bleu, corpus_chrf
from limelight.text.scripts import count_words

UPPER_EDGES = (5, 10, 15, 20, 30)


@dataclass(frozen=True, slots=True)
class LengthBucket:
    """The sentences whose source has `shortest` to `longest` words, both included."""

    shortest: int
    longest: int | None
    """None: no upper end."""
    sentences: int
    bleu: float | None
    """None where there are no sentences. BLEU of a few sentences says little: read it with their number."""
    chrf: float | None

    @property
    def label(self) -> str:
        """`6-10`, `31+`, or `0` for empty sources."""
        if self.longest is None:
            return f"{self.shortest}+"
        return f"{self.shortest}-{self.longest}" if self.shortest < self.longest else str(self.shortest)

    def holds(self, words: int) -> bool:
        """Whether a source of so many words belongs here."""
        return self.shortest <= words and (self.longest is None or words <= self.longest)


def score_by_length(
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: References,
    *,
    tokenize: str = "13a",
    upper_edges: Sequence[int] = UPPER_EDGES,
) -> tuple[LengthBucket, ...]:
    """BLEU and chrF of the sentences of each length; every sentence is in exactly one bucket.

    A bucket ends at each of `upper_edges`, the last has no end; empty sources get one of their own where there are any.
    Raises `UserError` for edges that do not rise from at least 1.
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
