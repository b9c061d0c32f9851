"""What goes in and comes out of a model between calls: memory, state, attention weights.

A memory is what the encoder leaves; a state is what the decoder carries from step to step. Neither is ever kept inside
a module: the decoding code holds them, reorders their hypotheses and drops them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.shapes import Bool, Float, Int

Integers = npt.NDArray[np.int64]

KeepHeads = Mapping[str, Tensor]
"""How much each attention head contributes, by `encoder.0.self`, `decoder.1.self`, `decoder.1.cross`: a vector of one
number per head, 1 keeps it and 0 switches it off. Attentions that are not named keep all their heads. With (2, heads)
numbers, those of the second row multiply the scores before the softmax: see `Intervention`."""


@dataclass(frozen=True, slots=True)
class Intervention:
    """A change of single heads, by the names of their attentions: how much each contributes, and how sharp it is."""

    keep_heads: Mapping[str, Float[Tensor, " heads"]] = field(default_factory=dict)
    """1 keeps a head, 0 switches it off."""
    temperature: Mapping[str, Float[Tensor, " heads"]] = field(default_factory=dict)
    """softmax(scores / temperature): below 1 the weights of a head are sharper, above 1 flatter."""

    def by_name(self) -> KeepHeads:
        """The same in the form in which models take it: `model.encode(..., keep_heads=intervention.by_name())`."""
        found: dict[str, Tensor] = {
            name: keep for name, keep in self.keep_heads.items() if name not in self.temperature
        }
        for name, temperature in self.temperature.items():
            keep = self.keep_heads.get(name, torch.ones_like(temperature))
            found[name] = torch.stack([keep, 1 / temperature])
        return found


class Memory(ABC):
    """What the encoder leaves of a batch of sources."""

    source_valid: Bool[Tensor, "batch source"]


Own = TypeVar("Own", bound="State")
"""The kind of state that is asked: it only ever meets its own kind."""


class State(ABC):
    """What the decoder carries from one step to the next: `width` hypotheses of each sentence of a batch.

    Whatever belongs to the source is there once for a sentence, however many hypotheses attend to it.

    A state is used up by what makes another of it, a step of the model as well as its own methods: its tensors may be
    overwritten.
    """

    @abstractmethod
    def reorder(self: Own, parents: Int[Tensor, "batch width"]) -> Own:
        """Hypothesis j of sentence i goes on from what its hypothesis `parents[i, j]` was."""

    @abstractmethod
    def keep(self: Own, sentences: Int[Tensor, " kept"]) -> Own:
        """These sentences alone, with all their hypotheses, in this order."""

    @abstractmethod
    def admit(self: Own, fresh: Own, places: Int[Tensor, " fresh"]) -> Own:
        """The sentences of a state before its first step take these places: free ones, or behind the last."""

    def release(self: Own, places: Int[Tensor, " places"]) -> Own:
        """The sentences there are decided: they are still carried along, but what becomes of them does not matter."""
        return self


class Active(NamedTuple):
    """Which hypotheses of a batch still matter: the first so many of each sentence, none of one that is decided.

    They are rows of a table, sentence by sentence. All this stands on the host, as the search does.
    """

    firsts: Integers
    """(batch + 1,): where the rows of each sentence begin, and where the last ones end."""

    @classmethod
    def of(cls, counts: Integers) -> "Active":
        """From how many of each sentence are active."""
        return cls(np.concatenate([[0], counts.cumsum()]))

    @property
    def rows(self) -> int:
        """How many are active."""
        return int(self.firsts[-1])

    @property
    def counts(self) -> Integers:
        """How many of each sentence are active."""
        return np.diff(self.firsts)

    @property
    def sentences(self) -> Integers:
        """The sentence of each row."""
        return np.repeat(np.arange(len(self.firsts) - 1), self.counts)

    def among(self, width: int) -> Integers | None:
        """Where each row stands among `width` hypotheses of every sentence; None where all are active."""
        if self.rows == (len(self.firsts) - 1) * width:
            return None
        sentences = self.sentences
        return sentences * width + np.arange(len(sentences)) - self.firsts[sentences]


@dataclass(frozen=True, slots=True)
class AttentionWeights:
    """Every weight a model attended with, a tensor per layer; empty where a model has no such attention."""

    encoder_self: tuple[Float[Tensor, "batch heads source source"], ...] = ()
    decoder_self: tuple[Float[Tensor, "batch heads target target"], ...] = ()
    cross: tuple[Float[Tensor, "batch heads target source"], ...] = ()
