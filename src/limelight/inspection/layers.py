"""Translations after a layer: what can be read from a vector before the layers above it have changed it.

DecoderLens (Langedijk et al. 2023, "DecoderLens: Layerwise Interpretation of Encoder-Decoder Transformers"): the
decoder attends to the output of encoder layer k, normalized as that of the last layer, and a translation is searched
greedily. Logit lens (nostalgebraist 2020): the output of decoder layer k is projected to the vocabulary as if it were
the last one. Both show what is decodable, which is not what the model uses.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.attention.attend import permit_keys
from limelight.batching.batch import Batch
from limelight.errors import UserError
from limelight.models.interface import KeepHeads, Seq2Seq, eval_mode
from limelight.models.recurrent.model import Recurrent
from limelight.models.transformer.layers import DecoderLayer, EncoderLayer
from limelight.models.transformer.model import Transformer, TransformerMemory, kept_heads


class States(NamedTuple):
    """The vectors between the layers for a sentence pair, before a final normalization."""

    encoder: npt.NDArray[np.float32]
    """(layers, source tokens, width), the end included. Layer 0 are the embeddings of a Transformer; a recurrent model
    has one layer, the annotations."""
    decoder: npt.NDArray[np.float32]
    """(layers, target tokens, width), likewise: the vectors from which each token, and the end, is predicted. A
    recurrent model has one layer, the states of its top layer."""


class LayerTranslation(NamedTuple):
    """The greedy translation from the output of one encoder layer."""

    ids: tuple[int, ...]
    log_probability: float
    """Sum over its tokens, and over its end if it is `finished`; natural logarithm."""
    finished: bool
    """Whether it ends before the maximum length."""


class LayerPrediction(NamedTuple):
    """The prediction of one decoder layer at one position."""

    best: int
    """The most probable token."""
    best_probability: float
    probability: float
    """Log-probability of the given token."""


def states(
    model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int], *, keep_heads: KeepHeads | None = None
) -> States:
    """The states of encoder and decoder for a source and a given target; ids are without start and end.

    Raises `UserError` for models without encoder and decoder.
    """
    with eval_mode(model) as device:
        batch = model.batch([source_ids], [target_ids]).to(device)
        if isinstance(model, Recurrent):
            memory = model.encode(batch.source, batch.source_valid, keep_heads=keep_heads)
            state, tops = model.start(memory), []
            for ids in batch.target_in.split(1, dim=1):
                _, state = model.step(ids, state)
                tops.append(state.top)
            return States(_array(memory.annotations), _array(torch.cat(tops, dim=1)))
        transformer = _transformer(model)
        encoded = _encoder_states(transformer, batch, keep_heads)
        memory_features = transformer.encoder.leave(encoded[-1:])
        return States(_array(encoded), _array(_decoder_states(transformer, memory_features, batch, keep_heads)))


def _array(layers: Tensor) -> npt.NDArray[np.float32]:
    return layers.float().cpu().numpy()


def _encoder_states(model: Transformer, batch: Batch, keep_heads: KeepHeads | None) -> Tensor:
    """(layers + 1, source, model) of a batch of one sentence."""
    hidden, rotate = model.encoder.enter(batch.source)
    may_attend, found = permit_keys(batch.source_valid), [hidden]
    for depth, layer in enumerate(cast(list[EncoderLayer], list(model.encoder.layers))):
        kept = kept_heads(keep_heads, f"encoder.{depth}.self")
        hidden, _ = layer(hidden, may_attend, rotate=rotate, keep_heads=kept)
        found.append(hidden)
    return torch.cat(found)


def _decoder_states(model: Transformer, memory: Tensor, batch: Batch, keep_heads: KeepHeads | None) -> Tensor:
    """(layers + 1, target, model) of a batch of one sentence."""
    sources = model.decoder.project_memory(memory, permit_keys(batch.source_valid))
    hidden, rotate = model.decoder.enter(batch.target_in)
    found = [hidden]
    for depth, layer in enumerate(cast(list[DecoderLayer], list(model.decoder.layers))):
        kept = [kept_heads(keep_heads, f"decoder.{depth}.{of}") for of in ("self", "cross")]
        hidden = layer(hidden, sources[depth], rotate=rotate, keep_self=kept[0], keep_cross=kept[1]).features
        found.append(hidden)
    return torch.cat(found)


def encoder_lens(
    model: Seq2Seq, source_ids: Sequence[int], *, max_length: int, keep_heads: KeepHeads | None = None
) -> list[LayerTranslation]:
    """The translation after each encoder layer: item k after k layers, 0 from the embeddings alone.

    `source_ids` are without the end, the translations have at most `max_length` tokens. Raises `UserError` for models
    other than Transformers with encoder and decoder.
    """
    transformer = _transformer(model)
    with eval_mode(model) as device:
        batch = model.batch([source_ids], [()]).to(device)
        features = transformer.encoder.leave(_encoder_states(transformer, batch, keep_heads))
        valid = batch.source_valid.expand(len(features), -1)
        return _greedy(transformer, TransformerMemory(features, valid, keep_heads), max_length)


def decoder_lens(
    model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int], *, keep_heads: KeepHeads | None = None
) -> list[list[LayerPrediction]]:
    """What each decoder layer would predict at each position of a given target: item [k][t] after k layers, 0 from the
    embeddings alone; the last position predicts the end.

    Ids are without start and end. Raises `UserError` as `encoder_lens` does.
    """
    transformer = _transformer(model)
    with eval_mode(model) as device:
        batch = model.batch([source_ids], [target_ids]).to(device)
        memory = transformer.encode(batch.source, batch.source_valid, keep_heads=keep_heads).features
        states = _decoder_states(transformer, memory, batch, keep_heads)
        logits = model.project(transformer.decoder.leave(states))
        found = logits.float().softmax(dim=-1)  # (layers, positions, vocab)
        top, best = found.max(dim=-1)
        given = found.gather(-1, batch.target_out.expand(len(found), -1)[..., None])[..., 0]
        rows = zip(best.tolist(), top.tolist(), given.tolist(), strict=True)
        return [[LayerPrediction(*each) for each in zip(*row, strict=True)] for row in rows]


def _greedy(model: Transformer, memory: TransformerMemory, max_length: int) -> list[LayerTranslation]:
    """The most probable token at each step, of each row of a batch."""
    state, count = model.start(memory), len(memory.features)
    ids = torch.full((count, 1), model.start_id, device=memory.features.device)
    said: list[list[int]] = [[] for _ in range(count)]
    sums, going_on = [0.0] * count, [True] * count
    for _ in range(max_length + 1):
        features, state = model.step(ids, state)
        best: Tensor = model.project(features[:, 0]).float().log_softmax(dim=-1)
        gained, chosen = best.max(dim=-1)
        for row, (gain, token) in enumerate(zip(gained.tolist(), chosen.tolist(), strict=True)):
            if not going_on[row] or (len(said[row]) == max_length and token != model.end_id):
                continue
            sums[row] += gain
            if token == model.end_id:
                going_on[row] = False
            else:
                said[row].append(token)
        if not any(going_on):
            break
        ids = chosen[:, None]
    rows = zip(said, sums, going_on, strict=True)
    return [LayerTranslation(tuple(tokens), total, not open_) for tokens, total, open_ in rows]


def _transformer(model: Seq2Seq) -> Transformer:
    if not isinstance(model, Transformer):
        raise UserError("the layers of Transformers with encoder and decoder can be read: this is another model")
    return model
