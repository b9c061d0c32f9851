"""What goes in and comes out of a model between calls: memory, state, attention weights.

A memory is what the encoder leaves; a state is what the decoder carries from step to step. Neither is ever kept inside
a module: whoever decodes holds them, moves their rows and drops them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from limelight.shapes import Bool, Float, Int

KeepHeads = Mapping[str, Tensor]
"""How much each attention head contributes, by `encoder.0.self`, `decoder.1.self`, `decoder.1.cross`: a vector of one
number per head, 1 keeps it and 0 switches it off. Attentions that are not named keep all their heads."""


class Memory(ABC):
    """What the encoder leaves of a batch of sources."""

    source_valid: Bool[Tensor, "batch source"]

    @abstractmethod
    def keep(self, rows: Int[Tensor, " rows"]) -> "Memory":
        """These rows, in this order; a row may be named several times."""


class State(ABC):
    """What the decoder carries from one step to the next, a row for each hypothesis."""

    @abstractmethod
    def reorder(self, rows: Int[Tensor, " rows"]) -> "State":
        """Row i goes on from what row `rows[i]` was. Rows move only among hypotheses of the same source sentence, so
        whatever belongs to the source stays where it is (and is not copied)."""

    @abstractmethod
    def keep(self, rows: Int[Tensor, " rows"]) -> "State":
        """These rows, source side included: finished ones leave, or a sentence becomes several hypotheses."""


@dataclass(frozen=True, slots=True)
class AttentionWeights:
    """Every weight a model attended with, a tensor per layer; empty where a model has no such attention."""

    encoder_self: tuple[Float[Tensor, "batch heads source source"], ...] = ()
    decoder_self: tuple[Float[Tensor, "batch heads target target"], ...] = ()
    cross: tuple[Float[Tensor, "batch heads target source"], ...] = ()
