"""What goes in and comes out of a model between calls: memory, state, attention weights.

A memory is what the encoder leaves; a state is what the decoder carries from step to step. Neither is ever kept inside
a module: whoever decodes holds them, moves their hypotheses and drops them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from torch import Tensor

from limelight.shapes import Bool, Float, Int

KeepHeads = Mapping[str, Tensor]
"""How much each attention head contributes, by `encoder.0.self`, `decoder.1.self`, `decoder.1.cross`: a vector of one
number per head, 1 keeps it and 0 switches it off. Attentions that are not named keep all their heads."""


class Memory(ABC):
    """What the encoder leaves of a batch of sources."""

    source_valid: Bool[Tensor, "batch source"]


Own = TypeVar("Own", bound="State")
"""The kind of state that is asked: it only ever meets its own kind."""


class State(ABC):
    """What the decoder carries from one step to the next: `width` hypotheses of each sentence of a batch.

    Whatever belongs to the source is there once for a sentence, however many hypotheses look at it.
    """

    @abstractmethod
    def reorder(self: Own, parents: Int[Tensor, "batch width"]) -> Own:
        """Hypothesis j of sentence i goes on from what its hypothesis `parents[i, j]` was."""

    @abstractmethod
    def keep(self: Own, sentences: Int[Tensor, " kept"]) -> Own:
        """These sentences alone, with all their hypotheses, in this order."""

    @abstractmethod
    def admit(self: Own, fresh: Own, places: Int[Tensor, " fresh"]) -> Own:
        """The sentences of a state before its first step take these places: of others that leave, or behind the last.

        The state before is used up: what it holds may be overwritten.
        """

    def release(self: Own, places: Int[Tensor, " places"]) -> Own:
        """The sentences there are decided: they are still carried along, but what becomes of them does not matter."""
        return self


@dataclass(frozen=True, slots=True)
class AttentionWeights:
    """Every weight a model attended with, a tensor per layer; empty where a model has no such attention."""

    encoder_self: tuple[Float[Tensor, "batch heads source source"], ...] = ()
    decoder_self: tuple[Float[Tensor, "batch heads target target"], ...] = ()
    cross: tuple[Float[Tensor, "batch heads target source"], ...] = ()
