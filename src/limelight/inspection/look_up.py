"""One step of attention in numbers: the steps of decoding, and one look-up."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor

from limelight.attention.attend import ScoreFunction, attend, causal_mask, permit_keys
from limelight.attention.scores import Additive, Concat, General, PositionalScore, Score, dot, placed, scaled_dot
from limelight.batching.batch import Batch, make_blocks
from limelight.errors import UserError
from limelight.inspection.attention_map import KINDS
from limelight.inspection.page_data import NAMES, packed
from limelight.inspection.words import END_PIECE, drawable, readable
from limelight.models.interface import KeepHeads, LanguageModel, Seq2Seq, eval_mode
from limelight.models.recurrent.model import AttentiveDecoder, BahdanauDecoder, Recurrent
from limelight.models.transformer.layers import CrossAttentionLayer, DecoderLayer, EncoderLayer
from limelight.models.transformer.model import Transformer, kept_heads
from limelight.models.transformer.ssru import SSRULayer
from limelight.shapes import Float
from limelight.tokens import Tokenizer

CANDIDATES = 10
"""Number of candidates of each step, the most probable first."""


def decoding_steps(
    model: Seq2Seq,
    target: Tokenizer,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    *,
    candidates: int = CANDIDATES,
    keep_heads: KeepHeads | None = None,
) -> list[dict[str, Any]]:
    """A step for each target token and one for the end, as values for JSON.

    `source_ids` and `target_ids` are without start and end. Each step is `{"chosen": {...}, "rank", "candidates":
    [...]}`: `rank` counts the chosen token from 0; a candidate has `id`, `text`, `probability` and `log_probability`
    (natural logarithm). The sum of the chosen log-probabilities is that of the translation.
    """
    batch = model.batch([source_ids], [target_ids])
    with eval_mode(model) as device:
        features = model.forward(batch.to(device), keep_heads=keep_heads)
        return _steps(model, features, target, target_ids, candidates)


def text_steps(model: LanguageModel, tokenizer: Tokenizer, ids: Sequence[int]) -> list[dict[str, Any]]:
    """The steps of a language model for a text from its beginning: one for each token and one for the end."""
    batch = make_blocks(np.array([[model.start_id, *ids, model.end_id]]))
    with eval_mode(model) as device:
        features = model.forward(batch.to(device))
        return _steps(model, features, tokenizer, ids, CANDIDATES)


def _steps(
    model: Seq2Seq, features: Float[Tensor, "1 length features"], target: Tokenizer, ids: Sequence[int], count: int
) -> list[dict[str, Any]]:
    """The steps that predict `ids` and the end, each with its `count` most probable tokens."""
    log_probabilities = model.project(features)[0].float().log_softmax(dim=-1).cpu()  # (length, vocab)
    end = model.end_id
    top = log_probabilities.topk(min(count, log_probabilities.shape[-1]), dim=-1)
    steps = []
    for place, chosen in enumerate([*ids, end]):
        row = log_probabilities[place]
        steps.append(
            {
                "chosen": candidate(target, chosen, float(row[chosen]), end=end),
                "rank": int((row > row[chosen]).sum()),
                "candidates": [
                    candidate(target, each, value, end=end)
                    for each, value in zip(top.indices[place].tolist(), top.values[place].tolist(), strict=True)
                ],
            }
        )
    return steps


def candidate(target: Tokenizer, token: int, log_probability: float, *, end: int) -> dict[str, Any]:
    """A candidate as values for JSON; `begins` says whether a word begins with it."""
    if token == end:
        piece = END_PIECE
    else:
        (piece,) = target.pieces([token])
    found: dict[str, Any] = {
        "id": token,
        "text": drawable(readable(piece)),
        "probability": torch.tensor(log_probability).exp().item(),
        "log_probability": log_probability,
    }
    return found | ({"role": "end"} if token == end else {"begins": piece.startswith("▁")})


FORMULAS = {
    "scaled_dot": "softmax(q · k / √d) v",
    "dot": "softmax(q · k) v",
    "general": "softmax(q · W k) v",
    "additive": "softmax(v · tanh(W q + U k)) v",
    "concat": "softmax(v · tanh(W [q; k])) v",
}


class Compared(NamedTuple):
    """Queries, keys and values of one layer for one sentence, heads first."""

    queries: Tensor
    """(heads, rows, query_size)"""
    keys: Tensor
    """(heads, columns, key_size), projected for the score"""
    values: Tensor
    """(heads, columns, value_size)"""
    score: ScoreFunction | Score
    may_attend: Tensor
    """(rows, columns)"""


def look_up(
    model: Seq2Seq,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    *,
    kind: str,
    layer: int,
    head: int,
    row: int,
    keep_heads: KeepHeads | None = None,
) -> dict[str, Any]:
    """Every number of the attention of one query (a row), as values for JSON.

    `score`, `formula`, `scale` (the factor of products), `query` (d), `keys` (columns, d), `values`
    (columns, d_v), `products` (before scaling), `scores`, `permitted`, `weights`, `context` (d_v). Additive scores have
    `query_part`, `mixed` = tanh(query part + key part) and `energy`, of which `scores` = mixed . energy.

    Raises `UserError` for an unknown kind, layer, head or row, and for models of other families.
    """
    if kind not in KINDS:
        raise UserError(f"{kind!r} is not a kind of attention; kinds are {', '.join(KINDS)}")
    batch = model.batch([source_ids], [target_ids])
    with eval_mode(model) as device, torch.inference_mode():
        compared = _compared(model, batch.to(device), kind, layer, keep_heads)
        for name, value, count in (("head", head, len(compared.queries)), ("row", row, compared.queries.shape[1])):
            if not 0 <= value < count:
                raise UserError(f"there is no {name} {value}: there are {count}, they count from 0")
        asked, permitted = compared.queries[:, row : row + 1], compared.may_attend[row]
        factor = _factor(keep_heads, kind, layer, head)
        plain = compared.score.compare if isinstance(compared.score, Score) else compared.score

        def score(queries: Tensor, keys: Tensor) -> Tensor:
            return plain(queries, keys) * factor

        # all heads at once: a score may differ between heads, as that of ALiBi does
        contexts, weights = attend(
            asked, compared.keys, compared.values, score=score, may_attend=permitted[None], want_weights=True
        )
        assert weights is not None
        query, keys, values = asked[head], compared.keys[head], compared.values[head]
        if isinstance(compared.score, PositionalScore):
            query, keys = (compared.score.split(each)[0] for each in (query, keys))
        query, context = query[0], contexts[head, 0]
        scores = score(asked, compared.keys)
        numbers = {"scores": scores[head, 0], "weights": weights[head, 0]} | _numbers(compared.score, query, keys)
    shown = {"query": query, "keys": keys, "values": values, "context": context}
    arrays = {name: packed(value.detach().float().cpu().numpy()) for name, value in {**shown, **numbers}.items()}
    name, scale = _named(compared.score, query.shape[-1])
    return {
        "kind": kind,
        "layer": layer,
        "head": head,
        "row": row,
        "score": name,
        "formula": FORMULAS.get(name, name),
        "scale": scale * factor,
        "permitted": permitted.tolist(),
        **arrays,
    }


def _factor(keep_heads: KeepHeads | None, kind: str, layer: int, head: int) -> float:
    """The factor of the scores of this head: one over its temperature."""
    changed = kept_heads(keep_heads, NAMES[kind].format(layer))
    return float(changed[1, head]) if changed is not None and changed.dim() == 2 else 1.0


def _numbers(score: ScoreFunction | Score, query: Tensor, keys: Tensor) -> dict[str, Tensor]:
    """Intermediate results of the score, by name."""
    if isinstance(score, Additive | Concat):
        if isinstance(score, Additive):
            part = score.query_proj(query)
        else:
            part = torch.nn.functional.linear(query, score.mix.weight[:, : score.query_size])
        return {"query_part": part, "mixed": torch.tanh(part + keys), "energy": score.energy.weight[0]}
    return {"products": dot(query[None], keys)[0]}


def _named(score: ScoreFunction | Score, size: int) -> tuple[str, float]:
    """The name of a score, and the factor of its products."""
    if score is scaled_dot:
        return "scaled_dot", 1 / math.sqrt(size)
    if score is dot:
        return "dot", 1.0
    names = {Additive: "additive", Concat: "concat", General: "general"}
    name = next((name for kind, name in names.items() if isinstance(score, kind)), type(score).__name__.lower())
    return ("scaled_dot", 1 / math.sqrt(size)) if name == "scaleddot" else (name, 1.0)


def _compared(model: Seq2Seq, batch: Batch, kind: str, layer: int, keep_heads: KeepHeads | None) -> Compared:
    if isinstance(model, Transformer):
        layers = model.encoder.layers if kind == "encoder_self" else model.decoder.layers
        if not 0 <= layer < len(layers):
            raise UserError(f"there is no layer {layer}: there are {len(layers)}, they count from 0")
        if kind == "encoder_self":
            return _of_encoder(model, batch, layer, keep_heads)
        if kind == "decoder_self" and not isinstance(model.decoder.layers[layer], DecoderLayer):
            raise UserError("the decoder of this model has no self-attention (model.decoder_autoreg=ssru)")
        return _of_decoder(model, batch, layer, keep_heads, cross=kind == "cross")
    if isinstance(model, Recurrent) and isinstance(model.decoder, AttentiveDecoder) and (kind, layer) == ("cross", 0):
        return _of_recurrent(model, model.decoder, batch, keep_heads)
    raise UserError(f"the look-up of {kind}, layer {layer}, cannot be shown for this model")


def _of_encoder(model: Transformer, batch: Batch, layer: int, keep_heads: KeepHeads | None) -> Compared:
    permitted = permit_keys(batch.source_valid)
    hidden, rotate = model.encoder.enter(batch.source)
    each = cast(list[EncoderLayer], list(model.encoder.layers))
    for depth, below in enumerate(each[:layer]):
        kept = kept_heads(keep_heads, f"encoder.{depth}.self")
        hidden, _ = below(hidden, permitted, rotate=rotate, keep_heads=kept)
    attention = each[layer].attention
    queries, keys, values = attention.project_self(each[layer].attention_sublayer.before(hidden), rotate)
    return _first(queries, keys, values, attention.score, permitted[0, 0].expand(queries.shape[2], -1))


def _of_decoder(model: Transformer, batch: Batch, layer: int, keep_heads: KeepHeads | None, *, cross: bool) -> Compared:
    memory, _ = model.encoder(batch.source, batch.source_valid, keep_heads=keep_heads)
    sources = model.decoder.project_memory(memory, permit_keys(batch.source_valid))
    hidden, rotate = model.decoder.enter(batch.target_in)
    each = cast(list[CrossAttentionLayer], list(model.decoder.layers))
    kept = [[kept_heads(keep_heads, f"decoder.{depth}.{of}") for of in ("self", "cross")] for depth in range(len(each))]
    for depth, below in enumerate(each[:layer]):
        self_kept, cross_kept = kept[depth]
        output = below(hidden, sources[depth], rotate=rotate, keep_self=self_kept, keep_cross=cross_kept)
        hidden = output.features
    here, length = each[layer], hidden.shape[1]
    if not cross:
        assert isinstance(here, DecoderLayer)
        queries, keys, values = here.attention.project_self(here.attention_sublayer.before(hidden), rotate)
        return _first(queries, keys, values, here.attention.score, causal_mask(length, length, device=hidden.device))
    if isinstance(here, DecoderLayer):
        hidden = here.attend_self(hidden, causal=True, rotate=rotate, keep_heads=kept[layer][0]).hidden
    else:
        hidden = cast(SSRULayer, here).recur(hidden)
    queries = here.cross_attention.project_queries(here.cross_sublayer.before(hidden))
    source, score = sources[layer], here.cross_attention.score
    return _first(queries, source.keys, source.values, score, batch.source_valid[0].expand(length, -1))


def _of_recurrent(model: Recurrent, decoder: AttentiveDecoder, batch: Batch, keep_heads: KeepHeads | None) -> Compared:
    """Queries are the previous state in Bahdanau's decoder, the new state in Luong's."""
    state = model.start(model.encode(batch.source, batch.source_valid, keep_heads=keep_heads))
    source, queries = state.source, []
    for ids in batch.target_in.split(1, dim=1):
        before = state.top
        _, state = model.step(ids, state)
        queries.append(before if isinstance(decoder, BahdanauDecoder) else state.top)
    asked = torch.cat(queries, dim=1)[:, None]
    permitted = source.may_attend[0].expand(asked.shape[2], -1)
    asked = placed(decoder.score, asked)
    return _first(asked, source.prepared[:, None], source.values[:, None], decoder.score, permitted)


def _first(queries: Tensor, keys: Tensor, values: Tensor, score: ScoreFunction | Score, may_attend: Tensor) -> Compared:
    """The values of the only sentence of the batch."""
    return Compared(queries[0], keys[0], values[0], score, may_attend)
