"""The Transformer in compiled code: the form that decodes on a CPU.

It is batch-invariant: sentences are encoded without padding, and nothing that is computed for one depends on the
others, so that its translation and its scores are the same alone and in any batch.
"""

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch
from limelight.inference.cpu.forward import Rows, begin, step
from limelight.inference.cpu.jit import Integers
from limelight.inference.cpu.network import Network, with_positions
from limelight.inference.cpu.search import search_for
from limelight.inference.cpu.state import FIRST_ROOM, CompiledState, empty_past
from limelight.inference.cpu.weights import product
from limelight.layers.embedding import LearnedPositions
from limelight.models.interface import Active, Path, Query, Seq2Seq
from limelight.models.transformer.model import Transformer
from limelight.shapes import Bool, Float, Int


class CompiledTransformer(Seq2Seq[list[Integers], CompiledState]):
    """A Transformer of which there is a `network`. Its memory is the sources: they are encoded when a state begins with
    them, directly into its slots."""

    searches = True

    def __init__(self, model: Transformer, network: Network) -> None:
        super().__init__()
        self.network, self._model = network, [model]  # in a list: not a part of this module
        self.positions = nn.ModuleList(
            copy.copy(part) for part in model.modules() if isinstance(part, LearnedPositions)
        )
        """For `longest_sequence`."""
        self.start_id = model.start_id
        self.source_padding, self.target_padding = model.source_padding, model.target_padding

    def encode(self, source: Int[Tensor, "batch source"], source_valid: Bool[Tensor, "batch source"]) -> list[Integers]:
        return [row[valid].numpy() for row, valid in zip(source, source_valid, strict=True)]

    def start(self, memory: list[Integers], width: int = 1) -> CompiledState:
        longest = max(map(len, memory))
        network = self._for(longest)
        past = empty_past(network, len(memory), width, FIRST_ROOM, longest)
        for slot, source in enumerate(memory):
            begin(network, source, slot, past)
        return CompiledState(past, network)

    def step(
        self, ids: Int[Tensor, "batch width"], state: CompiledState
    ) -> tuple[Float[Tensor, "batch width features"], CompiledState]:
        features, state = self.step_some(ids, state, Active(np.full(len(ids), ids.shape[1])))
        return features.unflatten(0, tuple(ids.shape)), state

    def step_some(
        self, ids: Int[Tensor, "batch width"], state: CompiledState, active: Active
    ) -> tuple[Float[Tensor, "rows features"], CompiledState]:
        state, among, read = state.with_room(), active.among(ids.shape[1]), ids.flatten().numpy()
        read = np.ascontiguousarray(read if among is None else read[among])  # one type for compiled code
        rows = Rows(active.sentences, read, np.zeros(len(read), np.float32), active.firsts)
        network = self._for(int(state.past.ages[active.sentences].max(initial=0)) + 1)
        return torch.from_numpy(step(network, rows, state.past)), state

    def forward(self, batch: Batch) -> Float[Tensor, "batch target features"]:
        state, features = self.start(self.encode(batch.source, batch.source_valid)), []
        for ids in batch.target_in.split(1, dim=1):
            feature, state = self.step(ids, state)
            features.append(feature)
        return torch.cat(features, dim=1)

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        return product(features, self.network.output)

    def search(self, queries: Sequence[Query]) -> list[tuple[Path, ...] | None]:
        return search_for(queries, self.network, start=self.start_id)

    def _for(self, length: int) -> Network:
        """The network with tables for this many positions. Callers use the returned one, as another thread may replace
        it by one with shorter tables. Raises `UserError` beyond learned positions."""
        for positions in self.positions:
            positions.require(length)  # type: ignore[operator]
        network = self.network = with_positions(self.network, self._model[0], length)
        return network
