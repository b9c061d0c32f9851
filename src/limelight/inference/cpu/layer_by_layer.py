"""The layers of a Transformer one after the other: products by any packed linear layer, attention in compiled loops.

For fp32 and bf16, and for int8 with parts that `network.py` does not know, such as another normalization. Sentences are
encoded end to end, without padding: nothing that is computed for one depends on the others.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from limelight.inference.cpu.attention import attend_memory, attend_past, attend_within, rotate
from limelight.inference.cpu.forward import Rows
from limelight.inference.cpu.jit import Integers, Numbers
from limelight.inference.cpu.network import turns_of
from limelight.inference.cpu.ssru import advance_cells
from limelight.inference.cpu.state import Past
from limelight.inference.linear import MakeLinear
from limelight.inference.pack import joined, packed
from limelight.layers.embedding import RotaryPositions
from limelight.models.transformer import Layer, SSRULayer, Transformer
from limelight.shapes import Float

FIRST_TURNS = 256
"""Positions of the table of rotary positions at first."""


class LayerByLayer:
    """The layers of a Transformer with packed weights. Activations must be fp32 on a CPU."""

    def __init__(self, model: Transformer, linear: MakeLinear) -> None:
        self.twin = packed(model, linear)
        self.encoder, self.decoder = list(self.twin.encoder.each()), list(self.twin.decoder.each())
        for readable, layer in zip(
            (*model.encoder.each(), *model.decoder.each()), (*self.encoder, *self.decoder), strict=True
        ):
            _join(readable, layer, linear)
        # Products pad to a minimum number of rows: a step pads once.
        self.least_rows = getattr(self.twin.output, "least_rows", 1)
        self.turns = np.zeros((0, 2), np.float32)
        self._grow_turns(FIRST_TURNS)

    def begin(self, sources: Sequence[Integers], past: Past) -> None:
        """Read the sources into the first slots."""
        lengths = [len(source) for source in sources]
        past.lengths[:], past.ages[:] = lengths, 0
        stack, hidden = self.twin.encoder, list[Tensor]()
        for source in sources:
            embedded = stack.embedding(torch.from_numpy(source)[None])
            hidden.append(embedded if stack.positions is None else stack.positions(embedded))
        rows, firsts = torch.cat(hidden, dim=1), np.cumsum([0, *lengths])
        self._grow_turns(max(lengths))
        for layer in self.encoder:
            rows = layer.attention_sublayer(rows, lambda given, layer=layer: self._attend_within(layer, given, firsts))
            rows = layer.feed_forward_sublayer(rows, layer.feed_forward)
        memory = stack.leave(rows)[0]
        for number, layer in enumerate(self.decoder):
            projected = cast(Any, layer.cross_attention).memory_proj(memory).split(lengths)
            for slot, (length, part) in enumerate(zip(lengths, projected, strict=True)):
                past.memory[number, slot, :length] = part.numpy()

    def step(self, rows: Rows, past: Past) -> Numbers:
        """The output of the decoder for one more position of these hypotheses: (rows, model)."""
        stack, ages = self.twin.decoder, torch.from_numpy(past.ages[rows.slots])
        hidden = stack.embedding(torch.from_numpy(rows.ids))[:, None]
        longest = int(past.ages.max()) + 1
        if stack.positions is not None:
            hidden = stack.positions.at(hidden, ages, most=longest)
        self._grow_turns(longest)
        turns = self.turns[past.ages[rows.slots]] if stack.rotary is not None else None
        hidden = functional.pad(hidden[:, 0], (0, 0, 0, max(0, self.least_rows - len(ages))))
        for number, layer in enumerate(self.decoder):
            hidden = self._layer(layer, hidden, rows, past, number, turns)
        past.ages[:] += 1
        features: Numbers = stack.leave(hidden[None])[0, : len(ages)].numpy()
        return features

    def _layer(
        self, layer: Layer, hidden: Tensor, rows: Rows, past: Past, number: int, turns: Numbers | None
    ) -> Tensor:
        where = rows.firsts, past.keys[number], past.values[number], past.ancestors, past.ages

        def recur(given: Tensor) -> Tensor:
            joint = cast(Any, layer).ssru.joint_proj(given)
            advance_cells(joint.numpy(), rows.firsts, past.keys[number], past.ancestors, past.ages)
            return joint[:, : given.shape[1]]

        def attend_self(given: Tensor) -> Tensor:
            joint = cast(Any, layer.attention).joint_proj(given)
            if turns is not None:
                rotate(joint.numpy(), turns, layer.attention.heads)
            context = np.zeros((len(given), past.values.shape[4], past.values.shape[5]), np.float32)
            attend_past(joint.numpy(), *where, context)
            return layer.attention.out_proj(torch.from_numpy(context).flatten(1))

        def attend_source(given: Tensor) -> Tensor:
            attention = layer.cross_attention
            assert attention is not None
            queries, memory = attention.query_proj(given), past.memory[number]
            context = np.zeros((len(given), attention.heads * attention.value_size), np.float32)
            attend_memory(queries.numpy(), rows.firsts, memory, past.lengths, attention.heads, context)
            return attention.out_proj(torch.from_numpy(context))

        if isinstance(layer, SSRULayer):
            hidden = layer.ssru_sublayer(hidden, recur)
        else:
            hidden = layer.attention_sublayer(hidden, attend_self)
        hidden = layer.cross_sublayer(hidden, attend_source)
        return layer.feed_forward_sublayer(hidden, layer.feed_forward)

    def _attend_within(self, layer: Layer, rows: Float[Tensor, "1 rows model"], firsts: Integers) -> Tensor:
        """Self-attention among the positions of each sentence."""
        attention = layer.attention
        joint = cast(Any, attention).joint_proj(rows)[0].numpy()
        if self.twin.encoder.rotary is not None:
            for first, after in pairwise(firsts.tolist()):
                rotate(joint[first:after], self.turns[: after - first], attention.heads)
        context = np.empty((len(joint), attention.heads * attention.value_size), np.float32)
        attend_within(joint, firsts, attention.heads, attention.head_size, context)
        return attention.out_proj(torch.from_numpy(context)[None])

    def _grow_turns(self, length: int) -> None:
        rotary: RotaryPositions | None = self.twin.encoder.rotary
        if rotary is not None and length > len(self.turns):
            self.turns = turns_of(rotary, max(FIRST_TURNS, 2 * length))


def _join(readable: Layer, layer: Layer, linear: MakeLinear) -> None:
    """One product instead of several for the projections of the same input."""
    if isinstance(layer, SSRULayer):
        ssru = cast(SSRULayer, readable).ssru
        _replace_by(layer.ssru, "joint_proj", linear(*joined(ssru.input_proj, ssru.forget_proj)))
    else:
        own = readable.attention
        _replace_by(layer.attention, "joint_proj", linear(*joined(own.query_proj, own.key_proj, own.value_proj)))
        del layer.attention.query_proj
    if layer.cross_attention is not None and readable.cross_attention is not None:
        across = readable.cross_attention
        _replace_by(layer.cross_attention, "memory_proj", linear(*joined(across.key_proj, across.value_proj)))


def _replace_by(module: Any, name: str, layer: Any) -> None:
    """Add the joined layer, and delete those that it is made of."""
    setattr(module, name, layer)
    for single in ("key_proj", "value_proj", "input_proj", "forget_proj"):
        if hasattr(module, single):
            delattr(module, single)
