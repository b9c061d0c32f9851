"""A model whose states are worthless once another has been made of them, as `State` permits every model."""

import copy
from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import torch
from torch import Tensor

from limelight.models.interface import Active, Seq2Seq, State


class UsedUpState(State):
    """A state that is overwritten by what makes another of it."""

    def __init__(self, state: State) -> None:
        self.state = state

    def spend(self) -> State:
        """A copy, once."""
        own = copy.deepcopy(self.state)
        for tensor in tensors_in(self.state):
            tensor.fill_(torch.nan if tensor.is_floating_point() else 0)
        return own

    def reorder(self, parents: Tensor) -> "UsedUpState":
        return UsedUpState(self.spend().reorder(parents))

    def keep(self, sentences: Tensor) -> "UsedUpState":
        return UsedUpState(self.spend().keep(sentences))

    def admit(self, fresh: "UsedUpState", places: Tensor) -> "UsedUpState":
        return UsedUpState(self.spend().admit(fresh.spend(), places))

    def release(self, places: Tensor) -> "UsedUpState":
        return UsedUpState(self.spend().release(places))


class UsedUpModel(Seq2Seq):
    """The model, with such states."""

    def __init__(self, model: Seq2Seq) -> None:
        super().__init__()
        self.model = model
        self.start_id, self.end_id = model.start_id, model.end_id
        self.source_padding, self.target_padding = model.source_padding, model.target_padding

    def encode(self, source, source_valid):
        return self.model.encode(source, source_valid)

    def start(self, memory, width=1):
        return UsedUpState(self.model.start(memory, width))

    def step(self, ids, state):
        features, state = self.model.step(ids, state.spend())
        return features.clone(), UsedUpState(state)

    def step_some(self, ids: Tensor, state: UsedUpState, active: Active):
        features, after = self.model.step_some(ids, state.spend(), active)
        return features.clone(), UsedUpState(after)

    def forward(self, batch):
        return self.model(batch)

    def project(self, features):
        return self.model.project(features)


def tensors_in(part: object) -> Iterator[Tensor]:
    """All tensors of a state."""
    if isinstance(part, Tensor):
        yield part
        return
    if is_dataclass(part):
        inner = [getattr(part, field.name) for field in fields(part)]
    elif isinstance(part, tuple):
        inner = list(part)
    else:
        inner = list(getattr(part, "__dict__", {}).values())
    for each in inner:
        yield from tensors_in(each)
