"""What a compiled Transformer carries from step to step, in searches in one call and in steps.

Keys and values stay where they were written; a table of ancestors records which of them are a hypothesis' own past, and
only that table changes when hypotheses are reordered. Every sentence has its own age, so that sentences can join at any
step, and padding is never read.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from torch import Tensor

from limelight.inference.cpu.attention import follow_parents
from limelight.inference.cpu.jit import Integers, Numbers
from limelight.inference.cpu.network import Network
from limelight.models.interface import State
from limelight.shapes import Int

FIRST_ROOM = 64
"""Initial capacity in positions; it doubles when full."""


class Past(NamedTuple):
    """Keys and values of target and source. A slot has the hypotheses of a sentence."""

    keys: Numbers
    """(layers, slots, width, room, heads, head_size); of a recurrent decoder the cells, as keys of one head"""
    values: Numbers
    """(layers, slots, width, room, heads, value_size); of a recurrent decoder without size"""
    ancestors: Integers
    """(slots, width, room): index of each hypothesis' ancestor at each position"""
    ages: Integers
    """(slots,): number of positions that have been read"""
    memory: Numbers
    """(layers, slots, longest, keys and values of all heads)"""
    lengths: Integers
    """(slots,): of the sources"""


def empty_past(network: Network, slots: int, width: int, room: int, longest: int) -> Past:
    """The past of empty slots."""
    heads, head_size, value_size, _, cell = network.sizes
    layers, memory = len(network.decoder_network.first.values), heads * (head_size + value_size)
    if cell:
        heads, head_size, value_size = 1, cell, 0
    return Past(
        np.empty((layers, slots, width, room, heads, head_size), np.float32),
        np.empty((layers, slots, width, room, heads, value_size), np.float32),
        np.zeros((slots, width, room), np.int64),
        np.zeros(slots, np.int64),
        np.empty((layers, slots, longest, memory), np.float32),
        np.zeros(slots, np.int64),
    )


@dataclass(slots=True)
class CompiledState(State):
    """A `Past` whose slots come and go. A step writes into it."""

    past: Past
    network: Network

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "CompiledState":
        follow_parents(self.past.ancestors, parents.numpy(), self.past.ages)
        return self

    def keep(self, sentences: Int[Tensor, " kept"]) -> "CompiledState":
        chosen = sentences.numpy()
        longest = int(self.past.lengths[chosen].max(initial=1))
        return self._moved(chosen, len(chosen), self.past.ancestors.shape[2], longest)

    def admit(self, fresh: "CompiledState", slots: Int[Tensor, " fresh"]) -> "CompiledState":
        rows, old, new = slots.numpy(), self.past, fresh.past
        batch, longest = max(len(old.ages), int(rows.max()) + 1), max(old.memory.shape[2], new.memory.shape[2])
        state = self
        if batch > len(old.ages) or longest > old.memory.shape[2]:
            everyone = np.arange(len(old.ages))
            state = self._moved(everyone, batch, old.ancestors.shape[2], longest)
        # The past of these slots is not cleared: at age 0 none of it is read.
        state.past.ages[rows], state.past.lengths[rows] = new.ages, new.lengths
        state.past.memory[:, rows, : new.memory.shape[2]] = new.memory
        return state

    def release(self, slots: Int[Tensor, " slots"]) -> "CompiledState":
        self.past.ages[slots.numpy()] = 0
        return self

    def with_room(self) -> "CompiledState":
        """A state with capacity for the next position."""
        old = self.past
        if old.ages.max() < old.ancestors.shape[2]:
            return self
        everyone = np.arange(len(old.ages))
        return self._moved(everyone, len(old.ages), 2 * old.ancestors.shape[2], old.memory.shape[2])

    def _moved(self, slots: Integers, count: int, room: int, longest: int) -> "CompiledState":
        """A copy of these slots as the first among `count`. Only the used part is copied: copying the capacity takes
        several times as long."""
        old, to = self.past, slice(len(slots))
        new = empty_past(self.network, count, old.keys.shape[2], room, longest)
        used, read = int(old.ages[slots].max(initial=0)), min(longest, old.memory.shape[2])
        new.ages[to], new.lengths[to] = old.ages[slots], old.lengths[slots]
        new.ancestors[to, :, :used] = old.ancestors[slots, :, :used]
        new.memory[:, to, :read] = old.memory[:, slots, :read]
        new.keys[:, to, :, :used] = old.keys[:, slots, :, :used]
        new.values[:, to, :, :used] = old.values[:, slots, :, :used]
        return CompiledState(new, self.network)
