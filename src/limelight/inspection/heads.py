"""The attentions of a model by their names, and models some of whose heads are scaled or switched off."""

import copy
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from limelight.errors import UserError
from limelight.inspection.probe import attentions_of
from limelight.models.interface import Seq2Seq, device_of
from limelight.models.transformer.model import Transformer

Heads = Mapping[str, Sequence[float] | Tensor]
"""How much each head contributes, by the name of its attention: one number per head, 1 keeps it, 0 switches it off."""


def transformer_of(model: nn.Module) -> Transformer:
    """The model. Raises `UserError` for others than Transformers with encoder and decoder."""
    if not isinstance(model, Transformer):
        raise UserError("heads and layers exist in Transformers with encoder and decoder: this is another model")
    return model


def head_counts(model: nn.Module) -> dict[str, int]:
    """The attentions of a model by their names, with their numbers of heads."""
    return {name: getattr(attention, "heads", 1) for name, attention in attentions_of(model).items()}


def without_heads(model: nn.Module, off: Mapping[str, Sequence[int]]) -> dict[str, Tensor]:
    """For `probe`: 0 for the heads that are off, by the name of their attention, 1 for its others. Raises `UserError`
    for an attention or a head that the model does not have."""
    counts, factors = head_counts(model), dict[str, Tensor]()
    for name, heads in off.items():
        if name not in counts or not all(0 <= head < counts[name] for head in heads):
            raise UserError(f"unknown attention {name!r}, or one of its heads {list(heads)}; {_listed(counts)}")
        factors[name] = torch.ones(counts[name], device=device_of(model))
        factors[name][list(heads)] = 0
    return factors


def _listed(counts: Mapping[str, int]) -> str:
    return f"the model has {', '.join(f'{name} with {count} heads' for name, count in counts.items()) or 'none'}"


def with_heads(model: Seq2Seq, keep_heads: Heads) -> Seq2Seq:
    """A model that computes what `model` computes under `probe(model, keep_heads)`, at the speed of any other model.

    MultiHead = sum_h keep_h context_h W_O^h + b_O, so the rows of W_O of head h are multiplied by keep_h. All other
    tensors are shared with `model`. Raises `UserError` for a model without multi-head attention, for an unknown
    attention, and for another number of heads than it has.
    """
    counts = head_counts(transformer_of(model))
    for name, keep in keep_heads.items():
        if counts.get(name) != len(keep):
            raise UserError(f"{name!r} is unknown, or its heads are not {len(keep)}; {_listed(counts)}")
    twin = copy.deepcopy(model, {id(parameter): parameter for parameter in model.parameters()})
    for name, keep in keep_heads.items():
        attention = attentions_of(twin)[name]
        weight = attention.out_proj.weight
        factors = torch.as_tensor(keep, dtype=weight.dtype, device=weight.device)
        scaled = weight.detach() * factors.repeat_interleave(attention.value_size)
        attention.out_proj.weight = nn.Parameter(scaled, requires_grad=False)
    return twin
