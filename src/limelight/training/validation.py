"""How good the model is now: the loss of unseen pairs, and BLEU of what it really translates."""

import math
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import torch

from limelight.batching.batch import Batch, make_batch
from limelight.batching.bucketing import cut_batches
from limelight.decoding.jobs import require_room
from limelight.decoding.translate import Translator
from limelight.evaluation.metrics import corpus_bleu
from limelight.inspection.reading import reading
from limelight.models.interface import Seq2Seq
from limelight.text.pair import Pair
from limelight.tokens import END, Tokenizers
from limelight.training.loss import batch_loss


@dataclass(frozen=True, slots=True)
class Validation:
    """One look at unseen text."""

    loss: float
    """Per target piece, natural logarithm, without label smoothing; its exponential is the perplexity."""
    bleu: float | None
    """sacreBLEU (13a, cased) of greedy translations; None when none were asked for."""
    example: tuple[str, str, str] | None
    """Source, reference and translation of one sentence."""

    def score(self, by: str) -> float:
        """The figure to be raised: BLEU, or minus the loss (also where there is no BLEU)."""
        figure = self.bleu if by == "bleu" and self.bleu is not None else -self.loss
        return figure if math.isfinite(figure) else -sys.float_info.max  # worse than any other, and comparable


def validation_batches(
    pairs: Sequence[Pair], tokenizers: Tokenizers, *, tokens: int, longest: int | None
) -> list[Batch]:
    """All pairs as batches, made once for a whole run.

    Raises `UserError` for a pair with more pieces than the `longest` sequence the model takes: now, and not after the
    first thousand updates.
    """
    sources = tokenizers.source.encode_batch([pair.source for pair in pairs])
    targets = tokenizers.target.encode_batch([pair.target for pair in pairs])
    if longest is not None:
        for pair, *rows in zip(pairs, sources, targets, strict=True):
            require_room(max(rows, key=len), longest, f"{pair.place}: this validation pair")
    lengths = [np.array([len(row) + 1 for row in side]) for side in (sources, targets)]
    padding = tokenizers.target.padding
    return [
        make_batch(
            [sources[row] for row in rows],
            [targets[row] for row in rows],
            start=padding,
            end=END,
            source_padding=tokenizers.source.padding,
            target_padding=padding,
        )
        for rows in cut_batches(*lengths, tokens=tokens, generator=np.random.default_rng(0))
    ]


def validate(
    model: Seq2Seq,
    batches: Sequence[Batch],
    translator: Translator,
    pairs: Sequence[Pair],
    *,
    bleu_sentences: int,
    autocast: AbstractContextManager[object],
    device: torch.device,
) -> Validation:
    """Loss over all batches; greedy translations of `bleu_sentences` pairs spread evenly over the set."""
    loss = mean_loss(model, batches, autocast=autocast, device=device)
    if not bleu_sentences:
        return Validation(loss, None, None)
    chosen = pairs if len(pairs) <= bleu_sentences else _spread(pairs, bleu_sentences)
    outputs = translator.translate([pair.source for pair in chosen], beam_size=1)
    bleu = corpus_bleu([output.text for output in outputs], [pair.target for pair in chosen])
    middle = len(chosen) // 2
    return Validation(loss, bleu.score, (chosen[middle].source, chosen[middle].target, outputs[middle].text))


def mean_loss(
    model: Seq2Seq, batches: Sequence[Batch], *, autocast: AbstractContextManager[object], device: torch.device
) -> float:
    """Negative log-likelihood per target piece, the end piece included."""
    total, pieces = 0.0, 0
    with reading(model):
        for batch in batches:
            with autocast:
                total += batch_loss(model, batch.to(device), label_smoothing=0.0).item()
            pieces += batch.target_pieces
    return total / pieces


def _spread(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """`count` pairs at even distances, so that a sorted file is seen from its short to its long end."""
    return [pairs[int(place)] for place in np.linspace(0, len(pairs) - 1, count)]
