"""Models without some of their attention heads: smaller, and faster by what these heads took.

    MultiHead = sum_h softmax(x W_Q^h (m W_K^h)^T / sqrt(d_k)) m W_V^h W_O^h + b_O

A head is its columns of W_Q, W_K and W_V and its rows of W_O, so a model without them computes what the whole one
computes with these heads switched off.

All attentions of a model have the same number of heads, which the compiled search, pictures and configurations rely on:
as many as the one that keeps most. In the others heads of zeros, which contribute nothing, fill the places.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from limelight.attention.multi_head import MultiHeadAttention
from limelight.config import TransformerConfig
from limelight.config.models import plugins_of
from limelight.errors import UserError, shown
from limelight.files import sha256
from limelight.inspection.head_importance import Head, heads_of, without
from limelight.inspection.heads import attentions
from limelight.interop.files import read_json
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from limelight.storage.layout import WEIGHTS
from limelight.storage.model import StoredModel
from limelight.storage.tables import Places
from limelight.storage.weights import named_weights, put_weights

STUDY = "limelight.heads", 1
"""Format and version of the figures of `limelight heads`."""


def prune_model(stored: StoredModel, removed: Sequence[Head]) -> tuple[StoredModel, Places]:
    """The model without some heads, and which head is where.

    Raises `UserError` for models other than Transformers with encoder and decoder, and for heads that it does not have.
    """
    model, config = _translator_of(stored), stored.config.model
    places = _places(model, removed)
    there = attentions(model)
    first = next(iter(there.values()))
    assert isinstance(config, TransformerConfig)
    if "score" in plugins_of(config):
        raise UserError(f"{stored.folder}: the score {config.score!r} of a plugin may depend on the number of heads")
    if config.kv_heads is not None:
        raise UserError(f"{stored.folder}: model.kv_heads={config.kv_heads}: heads that share keys cannot be removed")
    sizes = {"heads": len(next(iter(places.values()))), "head_size": first.head_size, "value_size": first.value_size}
    if first.value_size == first.head_size:
        del sizes["value_size"]
    smaller = stored.config.model_copy(update={"model": config.model_copy(update=sizes)})
    names = {id(attention): name for name, attention in there.items()}
    weights = named_weights(model)
    for path, module in model.named_modules():
        if isinstance(module, MultiHeadAttention):
            weights.update(_pruned(module, path, weights, places[names[id(module)]]))
    with torch.random.fork_rng(devices=[]):  # the initial weights are replaced
        built = build_model(smaller.model, stored.tokenizers).eval()
    put_weights(built, weights, where=str(stored.folder))
    return replace(stored, model=built, config=smaller), places


def _translator_of(stored: StoredModel) -> Seq2Seq[Any, Any]:
    return cast("Seq2Seq[Any, Any]", stored.model)


def _places(model: Seq2Seq[Any, Any], removed: Sequence[Head]) -> dict[str, list[int | None]]:
    heads_of(model)  # it may have none
    keep = {name: torch.ones(each.heads) for name, each in attentions(model).items()} | without(model, removed)
    kept = {name: [number for number, value in enumerate(each.tolist()) if value] for name, each in keep.items()}
    most = max(1, *map(len, kept.values()))
    return {name: [*numbers, *[None] * (most - len(numbers))] for name, numbers in kept.items()}


def _pruned(
    attention: MultiHeadAttention, path: str, weights: Mapping[str, Tensor], places: Sequence[int | None]
) -> dict[str, Tensor]:
    """The projections with these heads."""
    found = {}
    for name in ("query_proj", "key_proj", "value_proj"):
        size = attention.value_size if name == "value_proj" else attention.head_size
        for part in ("weight", "bias"):
            given = weights[f"{path}.{name}.{part}"]
            found[f"{path}.{name}.{part}"] = _chosen(given, size, places)
    out = weights[f"{path}.out_proj.weight"]
    found[f"{path}.out_proj.weight"] = _chosen(out.T, attention.value_size, places).T.contiguous()
    return found


def _chosen(rows: Tensor, size: int, places: Sequence[int | None]) -> Tensor:
    """The rows of these heads, `size` of each; zeros for None."""
    each = rows.reshape(-1, size, *rows.shape[1:])
    return torch.cat([torch.zeros_like(each[0]) if number is None else each[number] for number in places])


def least_needed(study: Path, stored: StoredModel, keep: int) -> list[Head]:
    """All heads but the `keep` of each attention whose removal costs most, by the figures of `limelight heads`.

    Raises `UserError` for another file, for figures of another model, and for fewer than one or more heads than there
    are.
    """
    heads = heads_of(_translator_of(stored))
    most = max(head.number for head in heads) + 1
    if not 1 <= keep <= most:
        raise UserError(f"--heads {keep}: each attention of this model has {most} heads; keep from 1 to {most}")
    values = read_json(study)
    try:
        if (values["format"], values["version"]) != STUDY:
            raise ValueError(f"its format is {values['format']!r}, version {values['version']!r}")
        weights = values["provenance"]["weights"]
        costs = {Head(each["attention"], each["head"]): float(each["removal"]["mean"]) for each in values["heads"]}
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{study}: not a heads.json of `limelight heads`: {shown(str(error))}") from None
    if weights != sha256(stored.folder / WEIGHTS) or set(costs) != set(heads):
        raise UserError(
            f"{study}: these figures are of another model than {stored.folder}; run `limelight heads` again"
        )
    removed: list[Head] = []
    for name in dict.fromkeys(head.attention for head in heads):
        own = sorted((head for head in heads if head.attention == name), key=lambda head: (-costs[head], head))
        removed += own[keep:]
    return sorted(removed)
