"""Contributions: what attention adds to a vector.

A weight says how much of a vector is taken, and not how large the vector is. Multi-head attention is a sum of vectors,
one for each head and each position that is attended to:

    MultiHead_i = sum_h sum_j alpha^h_ij f^h(x_j) + b_O        f^h(x_j) = (x_j W_V^h + b_V^h) W_O^h

`contributions` are the norms ||alpha^h_ij f^h(x_j)|| (Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing
Transformers with Vector Norms", section 3); of a whole layer ||sum_h alpha^h_ij f^h(x_j)||.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from limelight.attention.multi_head import MultiHeadAttention
from limelight.inspection.heads import transformer_of
from limelight.inspection.page_data import NAMES, layers_of
from limelight.inspection.probe import Attended, attention_of, attentions_of
from limelight.models.interface import Seq2Seq, eval_mode

Array = npt.NDArray[np.float32]


class Contributions(NamedTuple):
    """Contributions of one kind of attention for a sentence pair. Rows and columns as in `AttentionMap`."""

    norms: Array
    """(layers, heads, columns): ||f^h(x_j)||, the size of what a head takes from a position."""
    heads: Array
    """(layers, heads, rows, columns): ||alpha^h_ij f^h(x_j)||, weight times norm."""
    layers: Array
    """(layers, rows, columns): ||sum_h alpha^h_ij f^h(x_j)||. The vectors of heads may cancel one another."""


def contributions(model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int]) -> dict[str, Contributions]:
    """The contributions of each kind of attention that the model has (`cross`, `encoder_self`, `decoder_self`).

    Ids are without start and end. Raises `UserError` for models other than Transformers with encoder and decoder.
    """
    modules, by_kind = attentions_of(transformer_of(model)), dict[str, Contributions]()
    with eval_mode(model):
        seen = attention_of(model, model.batch([source_ids], [target_ids]))
        for kind in NAMES:
            layers = [_of_layer(modules[name], seen.calls[name][0]) for name in layers_of(kind, modules)]
            if layers:
                by_kind[kind] = Contributions(*map(np.stack, zip(*layers, strict=True)))
    return by_kind


def _of_layer(attention: MultiHeadAttention, call: Attended) -> Contributions:
    """The contributions in the only sentence of a batch."""
    # (model, heads * value_size) -> (heads, value_size, model)
    out = attention.out_proj.weight.T.unflatten(0, (attention.heads, attention.value_size))
    vectors, weights = call.values[0] @ out, call.weights[0]
    norms = vectors.norm(dim=-1)
    total = torch.einsum("hij,hjd->ijd", weights, vectors).norm(dim=-1)
    return Contributions(
        *(values_of_heads.float().cpu().numpy() for values_of_heads in (norms, weights * norms[:, None], total))
    )
