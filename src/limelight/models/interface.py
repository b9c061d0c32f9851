"""What training and search may know of a model, and nothing more."""

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch
from limelight.models.state import Active, AttentionWeights, KeepHeads, Memory, State
from limelight.shapes import Bool, Float, Int

MemoryT = TypeVar("MemoryT", bound=Memory)
StateT = TypeVar("StateT", bound=State)


class Model(nn.Module, ABC):
    """What can be trained: features for the places of a batch where something is to be predicted."""

    @abstractmethod
    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch length features"]:
        """Features at every place of `batch.target_out`."""

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        """Matrix and bias of the final linear layer, for who computes it in a way of their own.

        Raises `TypeError` for a model whose projection is no linear layer, as that of an ensemble is not.
        """
        raise TypeError(f"the projection of {type(self).__name__} is no linear layer")


class Seq2Seq(Model, Generic[MemoryT, StateT]):
    """A model of p(target | source), one target token at a time.

    Two laws hold for each (`tests/properties`): `forward` equals `step` after `step`, and neither padding nor the other
    rows of a batch change a row's result.

    Attributes:
        start_id: what the decoder reads first (Marian's convention: the target's padding id, a zero vector).
        end_id: what ends a sentence on both sides.
        source_padding, target_padding: the last id of each vocabulary.
    """

    start_id: int
    end_id: int
    source_padding: int
    target_padding: int

    @property
    def output_size(self) -> int:
        """Classes `project` scores: every target token but padding, which can never be predicted."""
        return self.target_padding

    @abstractmethod
    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
    ) -> MemoryT:
        """Read the sources, all positions at once."""

    @abstractmethod
    def start(self, memory: MemoryT, width: int = 1) -> StateT:
        """The state before the first step: `width` hypotheses for each source row."""

    @abstractmethod
    def step(
        self, ids: Int[Tensor, "batch width"], state: StateT
    ) -> tuple[Float[Tensor, "batch width features"], StateT]:
        """Read one token per hypothesis; return the features that predict the next, and the state after it. The state
        before is used up, see `State`."""

    def step_some(
        self, ids: Int[Tensor, "batch width"], state: StateT, active: Active
    ) -> tuple[Float[Tensor, "rows features"], StateT]:
        """`step` for the active hypotheses: their features alone, sentence by sentence.

        Models that can spare themselves the others override it; here they are read as well.
        """
        features, state = self.step(ids, state)
        features, among = features.flatten(0, 1), active.among(ids.shape[1])
        return features if among is None else features[torch.from_numpy(among).to(ids.device)], state

    @abstractmethod
    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        """Features at all target positions at once, given the true tokens before each (teacher forcing)."""

    @abstractmethod
    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        """The same features, with every attention weight on the way: the readable path, quadratic in memory."""

    @abstractmethod
    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        """The final linear layer: features to logits. Softmax is left to who asks, as many do not need all of it."""
