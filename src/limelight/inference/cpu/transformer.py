"""The Transformer in compiled code: the form that decodes on a CPU.

It is batch-invariant: sentences are encoded without padding, and nothing that is computed for one depends on the
others, so that its translation and its scores are the same alone and in any batch.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention
from limelight.attention.scores import scaled_dot
from limelight.batching.batch import Batch
from limelight.inference.cpu.best_tokens import Int8Ranking
from limelight.inference.cpu.forward import Rows, begin, step
from limelight.inference.cpu.int8_linear import CompiledInt8Linear
from limelight.inference.cpu.jit import Integers, Numbers
from limelight.inference.cpu.layer_by_layer import LayerByLayer
from limelight.inference.cpu.network import Network, network_of, with_positions
from limelight.inference.cpu.sentence import search_for
from limelight.inference.cpu.state import FIRST_ROOM, CompiledState, Past, Shape
from limelight.inference.linear import MakeLinear
from limelight.layers.embedding import LearnedPositions, RotaryPositions, SinusoidalPositions, TokenEmbedding
from limelight.models.interface import Active, Memory, Path, Query, Ranking, Seq2Seq
from limelight.models.transformer import SSRU, Layer, SSRULayer, Stack, Sublayer, Transformer
from limelight.shapes import Bool, Float, Int

KNOWN: tuple[type[nn.Module], ...] = (
    Transformer, Stack, Layer, SSRULayer, SSRU, Sublayer, MultiHeadAttention, TokenEmbedding, LearnedPositions,
    SinusoidalPositions, RotaryPositions,
)  # fmt: skip
"""The modules that are computed here by loops of their own. A subclass may compute anything else."""


def compiles(model: Transformer) -> bool:
    """Whether the loops compute what this model computes."""
    for module in model.modules():
        if isinstance(module, KNOWN) and type(module) not in KNOWN:
            return False
        if isinstance(module, MultiHeadAttention) and module.score is not scaled_dot:
            return False
        if isinstance(module, MultiHeadAttention) and module.kv_heads != module.heads:
            return False
    return type(model) is Transformer and model.decoder.embedding.weight.dtype == torch.float32


class Layers(Protocol):
    """Encoder and decoder for the slots of a `Past`."""

    def begin(self, sources: Sequence[Integers], past: Past) -> None:
        """Read the sources into the first slots."""

    def step(self, rows: Rows, past: Past) -> Numbers:
        """The output of the decoder for one more position of these hypotheses: (rows, model)."""
        ...


class NetworkLayers:
    """The layers of a `Network`."""

    def __init__(self, network: Network, model: Transformer) -> None:
        self.network, self.model = network, model

    def begin(self, sources: Sequence[Integers], past: Past) -> None:
        network = self._network(self.model.encoder, max(map(len, sources)))
        for slot, source in enumerate(sources):
            begin(network, source, slot, past)

    def step(self, rows: Rows, past: Past) -> Numbers:
        return step(self._network(self.model.decoder, int(past.ages[rows.slots].max()) + 1), rows, past)

    def _network(self, stack: Stack, length: int) -> Network:
        """The network with tables for this many positions. Callers use the returned one, as another thread may replace
        it by one with shorter tables. Raises `UserError` beyond learned positions."""
        if isinstance(stack.positions, LearnedPositions):
            stack.positions.require(length)
        network = self.network = with_positions(self.network, self.model, length)
        return network


@dataclass(frozen=True, slots=True)
class Sources(Memory):
    """Sources that are encoded when a state begins with them, directly into its slots."""

    ids: list[Integers]
    source_valid: Bool[Tensor, "batch source"]


class CompiledTransformer(Seq2Seq[Sources, CompiledState]):
    """A Transformer with packed weights, for which `compiles` holds.

    Args:
        linear: makes the linear layers.
    """

    def __init__(self, model: Transformer, linear: MakeLinear) -> None:
        super().__init__()
        self.output = linear(*model.output_weights())
        network = network_of(model, self.output.packed) if isinstance(self.output, CompiledInt8Linear) else None
        self.layers: Layers = LayerByLayer(model, linear) if network is None else NetworkLayers(network, model)
        self.network = network
        """The weights for searches in one call; None if there are none for this model."""
        learned = (part for part in model.modules() if isinstance(part, LearnedPositions))
        self.positions = nn.ModuleList(map(copy.copy, learned))
        """For `longest_sequence`."""
        layers = list(model.decoder.each())
        across = layers[0].cross_attention
        assert across is not None
        heads, head_size, value_size = across.heads, across.head_size, across.value_size
        cell = model.decoder.embedding.weight.shape[1] if isinstance(layers[0], SSRULayer) else 0
        self.shape = Shape(len(layers), heads, head_size, value_size, heads * (head_size + value_size), cell)
        self.start_id, self.end_id = model.start_id, model.end_id
        self.source_padding, self.target_padding = model.source_padding, model.target_padding

    def encode(self, source: Int[Tensor, "batch source"], source_valid: Bool[Tensor, "batch source"]) -> Sources:
        return Sources([row[valid].numpy() for row, valid in zip(source, source_valid, strict=True)], source_valid)

    def start(self, memory: Sources, width: int = 1) -> CompiledState:
        past = self.shape.past(len(memory.ids), width, FIRST_ROOM, max(map(len, memory.ids)))
        self.layers.begin(memory.ids, past)
        return CompiledState(past, self.shape)

    def step(
        self, ids: Int[Tensor, "batch width"], state: CompiledState
    ) -> tuple[Float[Tensor, "batch width features"], CompiledState]:
        features, state = self.step_some(ids, state, Active.of(np.full(len(ids), ids.shape[1])))
        return features.unflatten(0, tuple(ids.shape)), state

    def step_some(
        self, ids: Int[Tensor, "batch width"], state: CompiledState, active: Active
    ) -> tuple[Float[Tensor, "rows features"], CompiledState]:
        state, among, read = state.with_room(), active.among(ids.shape[1]), ids.flatten().numpy()
        chosen = read if among is None else read[among]
        rows = Rows(active.sentences, chosen, np.zeros(len(chosen), np.float32), active.firsts)
        return torch.from_numpy(self.layers.step(rows, state.past)), state

    def forward(self, batch: Batch) -> Float[Tensor, "batch target features"]:
        state, features = self.start(self.encode(batch.source, batch.source_valid)), []
        for ids in batch.target_in.split(1, dim=1):
            found, state = self.step(ids, state)
            features.append(found)
        return torch.cat(features, dim=1)

    def rank(self, features: Float[Tensor, "rows features"]) -> Ranking | None:
        return Int8Ranking(features, self.output.packed) if isinstance(self.output, CompiledInt8Linear) else None

    @property
    def searches(self) -> bool:
        return self.network is not None

    def search(self, queries: Sequence[Query]) -> list[tuple[Path, ...] | None]:
        if self.network is None:
            return super().search(queries)
        return search_for(queries, self.network, self.shape, start=self.start_id, end=self.end_id)

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        return self.output(features)
