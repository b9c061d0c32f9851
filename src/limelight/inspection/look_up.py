"""One step of attention in numbers: the steps of decoding, and one look-up."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from limelight.attention.local import LocalMonotonic, LocalPredictive
from limelight.attention.scores import (
    Additive,
    NormalizedDot,
    PositionalScore,
    ScaledDot,
    Score,
    dot,
)
from limelight.batching.batch import Batch
from limelight.errors import UserError, drawable
from limelight.inspection.page_data import NAMES, JsonObject, packed
from limelight.inspection.probe import Attended, attention_of, attentions_of, heads_first
from limelight.inspection.words import readable
from limelight.models.interface import Seq2Seq, eval_mode
from limelight.tokens import Tokenizer
from limelight.tokens.tokenizer import END_PIECE

CANDIDATES = 10
"""Number of candidates of each step, the most probable first."""


def decoding_steps(model: Seq2Seq, target: Tokenizer, batch: Batch, ids: Sequence[int]) -> list[JsonObject]:
    """The steps that predict `ids` and the end in a batch of one sentence, as values for JSON.

    A step is `{"chosen": {...}, "rank", "candidates": [...]}`: `rank` counts the chosen token from 0; a candidate has
    `id`, `text`, `probability` and `log_probability` (natural logarithm). The sum of the chosen log-probabilities is
    that of the translation.
    """
    with eval_mode(model) as device:
        logits = model.project(model(batch.to(device)))[0]
        log_probabilities = logits.float().log_softmax(dim=-1).cpu()  # (length, vocab)
    end, steps = model.end_id, list[JsonObject]()
    for row, chosen in zip(log_probabilities, [*ids, end], strict=True):
        values, tokens = row.topk(min(CANDIDATES, len(row)))
        candidates = zip(tokens.tolist(), values.tolist(), strict=True)
        steps.append(
            {
                "chosen": candidate(target, chosen, float(row[chosen]), end=end),
                "rank": int((row > row[chosen]).sum()),
                "candidates": [candidate(target, token, value, end=end) for token, value in candidates],
            }
        )
    return steps


def candidate(target: Tokenizer, token: int, log_probability: float, *, end: int) -> JsonObject:
    """A candidate as values for JSON; `begins` says whether a word begins with it."""
    piece = END_PIECE if token == end else target.pieces([token])[0]
    document: JsonObject = {
        "id": token,
        "text": drawable(readable(piece)),
        "probability": torch.tensor(log_probability).exp().item(),
        "log_probability": log_probability,
    }
    return document | ({"role": "end"} if token == end else {"begins": piece.startswith("▁")})


FORMULAS = {
    "scaled_dot": "softmax(q · k / √d) v",
    "dot": "softmax(q · k) v",
    "general": "softmax(q · W k) v",
    "additive": "softmax(v · tanh(W q + U k)) v",
    "concat": "softmax(v · tanh(W [q; k])) v",
    "concatbias": "softmax(v · tanh(W [q; k] + b)) v",
    "normalizeddot": "softmax(q · k) v, |k| = 1",
    "localmonotonic": f"softmax(q · W k) v, at most {LocalMonotonic.window} positions away",
    "localpredictive": f"softmax(q · W k) exp(−2 (s − p)² / {LocalPredictive.window}²) v for position s of k",
}


def look_up(
    model: Seq2Seq,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    *,
    kind: str,
    layer: int,
    head: int,
    row: int,
) -> JsonObject:
    """Every number of the attention of one query (a row), as values for JSON.

    `score`, `formula`, `scale` (the factor of products), `query` (d), `keys` (columns, d), `values`
    (columns, d_v), `products` (before scaling), `scores`, `permitted`, `weights`, `context` (d_v). Additive scores have
    `query_part`, `mixed` = tanh(query part + key part) and `energy`, of which `scores` = mixed . energy. A score that
    multiplies weights after the softmax has these `factors` (columns).

    Raises `UserError` for an unknown kind, layer, head or row.
    """
    name, attentions = NAMES.get(kind, "").format(layer), attentions_of(model)
    if name not in attentions:
        raise UserError(f"there is no {kind} in layer {layer}; this model has {', '.join(attentions) or 'none'}")
    module = attentions[name].score
    with eval_mode(model):
        seen = attention_of(model, model.batch([source_ids], [target_ids]))
        calls = seen.calls[name]  # of a recurrent decoder one for each position
        queries = torch.cat([heads_first(call.queries) for call in calls], dim=2)
        keys, values = heads_first(calls[-1].keys), heads_first(calls[-1].values)[0]
        for what, value, count in (("head", head, queries.shape[1]), ("row", row, queries.shape[2])):
            if not 0 <= value < count:
                raise UserError(f"there is no {what} {value}: there are {count}, they count from 0")
        query_row, weights = queries[:, :, row : row + 1], seen.weights[name][0, head, row]
        # All heads at once: a score may differ between heads, as ALiBi does.
        scores, context = calls[-1].score(query_row, keys)[0, head, 0], weights @ values[head]
        query, keys, values = query_row[0, head], keys[0, head], values[head]
        if isinstance(module, PositionalScore):
            query, keys = (module.split(states)[0] for states in (query, keys))
        if isinstance(module, NormalizedDot):
            query = module.factor * torch.nn.functional.normalize(query, dim=-1)
        query = query[0]
        # A score may exclude keys itself, as local attention does.
        inside = scores > torch.finfo(scores.dtype).min / 1e6
        may_attend = _permitted(calls[-1], len(keys), row)
        permitted = [allowed and near for allowed, near in zip(may_attend, inside.tolist(), strict=True)]
        numbers = {"scores": scores.where(inside, 0.0), "weights": weights} | _numbers(module, query, keys)
        if factors := [heads_first(call.factors) for call in calls if call.factors is not None]:
            numbers["factors"] = torch.cat(factors, dim=2)[0, head, row]
    shown = {"query": query, "keys": keys, "values": values, "context": context}
    arrays = {name: packed(value.detach().float().cpu().numpy()) for name, value in {**shown, **numbers}.items()}
    named, scale = _named(module, query.shape[-1])
    return {
        "kind": kind,
        "layer": layer,
        "head": head,
        "row": row,
        "score": named,
        "formula": FORMULAS.get(named, named),
        "scale": scale,
        "permitted": permitted,
        **arrays,
    }


def _permitted(call: Attended, columns: int, row: int) -> list[bool]:
    """Which columns the query of a row may attend to, in a batch of one sentence."""
    if call.causal:
        return [column <= row for column in range(columns)]
    if call.may_attend is None:
        return [True] * columns
    return call.may_attend.flatten(0, -2)[0].tolist()


def _numbers(score: Score, query: Tensor, keys: Tensor) -> dict[str, Tensor]:
    """Intermediate results of the score, by name."""
    if isinstance(score, Additive):
        part = score.prepare_query(query)
        return {"query_part": part, "mixed": torch.tanh(part + keys), "energy": score.energy.weight[0]}
    return {"products": dot(query[None], keys)[0]}


def _named(score: Score, size: int) -> tuple[str, float]:
    """The name of a score, and the factor of its products."""
    if isinstance(score, ScaledDot):
        return "scaled_dot", 1 / math.sqrt(size)
    return type(score).__name__.lower(), 1.0
