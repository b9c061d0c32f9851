"""Ensembles: at every step the mean of the probabilities of several models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch
from limelight.decoding.top import at_least_fp32
from limelight.inference.prepare import prepare
from limelight.models.interface import Seq2Seq, State
from limelight.shapes import Bool, Float, Int
from limelight.storage.model import StoredModel


@dataclass(frozen=True, slots=True)
class EnsembleState(State):
    """The state of each member."""

    members: tuple[State, ...]


class Ensemble(Seq2Seq[tuple[object, ...], EnsembleState]):
    """p(y_t | y_<t, x) = mean over the members of their p(y_t | y_<t, x).

    Members may be of any kind and size but share their vocabularies. Features are the features of all members side by
    side; `project` gives logarithms of probabilities, which are logits that happen to be normalized.
    """

    def __init__(self, members: Sequence[Seq2Seq]) -> None:
        super().__init__()
        self.members = cast(Sequence[Seq2Seq], nn.ModuleList(members))
        first = members[0]
        self.start_id = first.start_id
        self.source_padding, self.target_padding = first.source_padding, first.target_padding
        self.widths: list[int] = []
        """Numbers of features of each member, once it has computed some."""

    def encode(
        self, source: Int[Tensor, "batch source"], source_valid: Bool[Tensor, "batch source"]
    ) -> tuple[object, ...]:
        """Encode the sources with every member."""
        return tuple(member.encode(source, source_valid) for member in self.members)

    def start(self, memory: tuple[object, ...], width: int = 1) -> EnsembleState:
        """The state of every member before the first step."""
        pairs = zip(self.members, memory, strict=True)
        return EnsembleState(tuple(member.start(part, width) for member, part in pairs))

    def step(
        self, ids: Int[Tensor, "batch width"], state: EnsembleState
    ) -> tuple[Float[Tensor, "batch width features"], EnsembleState]:
        """One token for every member; their features side by side."""
        pairs = zip(self.members, state.members, strict=True)
        features, states = zip(*(member.step(ids, part) for member, part in pairs), strict=True)
        return self._joined(features), EnsembleState(states)

    def forward(self, batch: Batch) -> Float[Tensor, "batch target features"]:
        """Features of all target positions, with the members side by side."""
        return self._joined([member(batch) for member in self.members])

    def _joined(self, features: Sequence[Tensor]) -> Float[Tensor, "... features"]:
        self.widths = [part.shape[-1] for part in features]
        return torch.cat(tuple(features), dim=-1)

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        """log mean_m softmax(logits_m), computed in log space so that small probabilities stay precise."""
        parts = zip(self.members, features.split(self.widths, dim=-1), strict=True)
        logarithms = torch.stack([at_least_fp32(member.project(part)).log_softmax(dim=-1) for member, part in parts])
        return logarithms.logsumexp(dim=0) - math.log(len(self.members))


def prepare_each(model: Seq2Seq | StoredModel, precision: str) -> Seq2Seq:
    """`prepare` for a model; for an ensemble, an ensemble of the prepared members."""
    if not isinstance(model, Ensemble):
        return prepare(model, precision)
    return Ensemble([prepare_each(member, precision) for member in model.members])
