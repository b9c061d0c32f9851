"""All measures of sentence pairs at once: pairs share batches, and the measures of a pair share one forward pass."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.inspection.batches import grouped
from limelight.inspection.contributions import Contributions, TokenContributions, followed, of_parts
from limelight.inspection.erasure import Drops, Rows, erasures_of
from limelight.inspection.forward_pass import Part, forward_passes
from limelight.inspection.layers import LayerPrediction, LayerTranslation, predictions_after, translations_after
from limelight.models.interface import KeepHeads, Seq2Seq

BATCH_TOKENS = 500
"""Pairs times the longer side of a batch; the search from all layers at once has as many rows as pairs times layers."""


class Measures(NamedTuple):
    """The measures of a sentence pair, as the functions of the same names compute them."""

    cross: npt.NDArray[np.float32]
    """(layers, heads, target tokens, source tokens): the weights of cross-attention, both ends included."""
    contributions: dict[str, Contributions]
    token_contributions: TokenContributions
    """The sum of each row of `source` is the share of the source."""
    erasures: Drops
    encoder_lens: list[LayerTranslation]
    decoder_lens: list[list[LayerPrediction]]


def measure(
    model: Seq2Seq, pairs: Sequence[Rows], *, max_lengths: Sequence[int], keep_heads: KeepHeads | None = None
) -> list[Measures]:
    """The measures of each pair. Several pairs take less time together than one by one.

    Args:
        max_lengths: for each pair the maximum tokens of the translations from its encoder layers.

    Raises `UserError` for models other than Transformers with encoder and decoder.
    """
    found: dict[int, Measures] = {}
    lengths = [max(len(pair.source), len(pair.target)) + 1 for pair in pairs]
    for places in grouped(sorted(range(len(pairs)), key=lengths.__getitem__), lengths, BATCH_TOKENS):
        some = [pairs[place] for place in places]
        measured = _measured(model, some, [max_lengths[place] for place in places], keep_heads)
        found.update(zip(places, measured, strict=True))
    return [found[place] for place in range(len(pairs))]


def _measured(
    model: Seq2Seq, pairs: Sequence[Rows], max_lengths: Sequence[int], keep_heads: KeepHeads | None
) -> list[Measures]:
    """The measures of pairs of similar lengths."""
    passes = forward_passes(model, [(pair.source, pair.target) for pair in pairs], keep_heads=keep_heads)
    read = translations_after(model, [each.encoder for each in passes], max_lengths, keep_heads=keep_heads)
    predicted = predictions_after(model, [each.decoder for each in passes], [pair.target for pair in pairs])
    drops = erasures_of(model, pairs, keep_heads=keep_heads)
    return [
        Measures(
            np.stack([part.weights.float().cpu().numpy() for part in found.parts["cross"] if isinstance(part, Part)]),
            of_parts(found.parts),
            followed(found.parts),
            lost,
            translations,
            predictions,
        )
        for found, lost, translations, predictions in zip(passes, drops, read, predicted, strict=True)
    ]
