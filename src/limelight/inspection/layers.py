"""Translations after a layer: what can be read from a vector before the layers above it have changed it.

DecoderLens (Langedijk et al. 2023, "DecoderLens: Layerwise Interpretation of Encoder-Decoder Transformers"): the
decoder attends to the output of encoder layer k, normalized like the output of the last layer, and a translation is
searched greedily. Logit lens (nostalgebraist 2020): the output of decoder layer k is projected to the vocabulary as if
it were the last one. Both show what is decodable, which is not what the model uses.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from limelight.decoding.engine import search_from
from limelight.decoding.request import Hypothesis, Request
from limelight.decoding.search import Search
from limelight.decoding.top import PROJECTED, at_least_fp32
from limelight.inspection.heads import transformer_of
from limelight.inspection.probe import probe
from limelight.models.interface import Seq2Seq, eval_mode
from limelight.models.transformer.model import TransformerMemory


class LayerPrediction(NamedTuple):
    """The prediction of one decoder layer at one position."""

    best: int
    """The most probable token."""
    best_probability: float
    probability: float
    """That of the given token."""


def _states(model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int]) -> list[Tensor]:
    """(states, tokens, model) of the encoder and of the decoder of a Transformer."""
    transformer_of(model)
    with eval_mode(model) as device, probe(model, states=True) as seen:
        model(model.batch([source_ids], [target_ids]).to(device))
    return [torch.cat(seen.stack(side)) for side in ("encoder", "decoder")]


def encoder_lens(
    model: Seq2Seq, source_ids: Sequence[int], *, max_length: int, prefix: Sequence[int] = ()
) -> list[Hypothesis]:
    """The greedy translation after each encoder layer: item k after k layers, 0 from the embeddings alone.

    `source_ids` are without the end. The translations begin with `prefix`, and have at most `max_length` tokens, or
    those of `prefix`. Raises `UserError` for models other than Transformers with encoder and decoder.
    """
    encoded, _ = _states(model, source_ids, ())
    with eval_mode(model):
        features = transformer_of(model).encoder.leave(encoded)  # all layers are one batch
        valid = torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
        search = Search(model, 1)
        search.admit([Request((), max_length, prefix=tuple(prefix))] * len(encoded), np.arange(len(encoded)))
        search_from(model, TransformerMemory(features, valid), search)
    return [search.results(slot)[0] for slot in range(len(encoded))]


def decoder_lens(model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int]) -> list[list[LayerPrediction]]:
    """What each decoder layer would predict at each position of a given target: item [k][t] after k layers, 0 from the
    embeddings alone; the last position predicts the end.

    Ids are without start and end. Raises `UserError` as `encoder_lens` does.
    """
    _, decoded = _states(model, source_ids, target_ids)
    rows, length = list[LayerPrediction](), len(target_ids) + 1
    with eval_mode(model) as device:
        wanted = torch.tensor([*target_ids, model.end_id], device=device).repeat(len(decoded))
        for states, tokens in zip(decoded.flatten(0, 1).split(PROJECTED), wanted.split(PROJECTED), strict=True):
            logits = model.project(transformer_of(model).decoder.leave(states[None])[0])  # (positions, vocab)
            probabilities = at_least_fp32(logits).softmax(dim=-1)
            top, best = probabilities.max(dim=-1)
            chosen = probabilities.gather(-1, tokens[:, None])[:, 0]
            rows += [
                LayerPrediction(*values) for values in zip(best.tolist(), top.tolist(), chosen.tolist(), strict=True)
            ]
    return [rows[first : first + length] for first in range(0, len(rows), length)]
