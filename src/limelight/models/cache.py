"""What decoders carry from step to step: keys and values in growing buffers, cells of recurrent layers, and the source.

A position of a sentence is a column for each of its hypotheses, side by side. Keys and values stay where they were
written; a table says for each hypothesis whose column of a position belongs to its past, and only this table changes
when hypotheses are reordered. Every sentence has its own age, so sentences can join at any step. A common prefix (a
prompt) has one column per position, whatever the number of hypotheses.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from limelight.models.interface import State, put_rows
from limelight.shapes import Bool, Float, Int

FIRST_ROOM = 16
"""Initial capacity in positions; it doubles when full."""


class Columns:
    """Keys and values of one layer, (batch, heads, columns, size) each."""

    def __init__(self, *parts: Float[Tensor, "batch heads columns _"]) -> None:
        self.parts = parts
        """Empty before the first position."""
        self.next: Int[Tensor, "batch width"] | None = None
        """The columns of the next position; None for a prompt, which is read at once."""
        self.room = self.length = 0
        """Capacity, and number of columns in use with the next position."""

    def append(self, *new: Float[Tensor, "batch heads width _"]) -> tuple[Float[Tensor, "batch heads length _"], ...]:
        """Write new keys and values; returns all."""
        if self.next is None:
            self.parts = new
            return new
        parts = self.parts or tuple(part[:, :, :0] for part in new)
        if parts[0].shape[2] < self.room:
            self.parts = parts = tuple(functional.pad(part, (0, 0, 0, self.room - part.shape[2])) for part in parts)
        rows = torch.arange(len(self.next), device=self.next.device)[:, None]
        for part, more in zip(parts, new, strict=True):
            part[rows, :, self.next] = more.transpose(1, 2)
        return tuple(part[:, :, : self.length] for part in parts)

    def admit(self, fresh: "Columns", slots: Int[Tensor, " fresh"]) -> "Columns":
        """With the columns of fresh sentences in these slots."""
        if not self.parts:  # before the first position, when `fresh` has none either
            return self
        parts = fresh.parts or tuple(part.new_zeros(len(slots), *part.shape[1:])[:, :, :0] for part in self.parts)
        return Columns(*(put_rows(part, new, slots) for part, new in zip(self.parts, parts, strict=True)))


@dataclass(slots=True)
class Past(State):
    """Keys and values of each decoder layer, and whose they are.

    Hypothesis w of sentence b writes the keys and values of its position t after the prompt to column
    `prompts[b] + t * width + w`. It reads the columns of the prompt, and for each of its positions t the column
    `prompts[b] + t * width + ancestors[b, w, t]`.

    Attributes:
        ancestors: index of each hypothesis' ancestor at each position after the prompt.
        ages: number of positions after the prompt that have been read.
        prompts: number of positions of each prompt.
        max_age, max_prompt: upper bounds of `ages` and `prompts`, known without waiting for the device.
    """

    layers: tuple[Columns, ...]
    ancestors: Int[Tensor, "batch width room"]
    ages: Int[Tensor, " batch"]
    prompts: Int[Tensor, " batch"]
    max_age: int
    max_prompt: int

    @classmethod
    def begin(
        cls, layers: tuple[Columns, ...], prompts: Int[Tensor, " batch"], width: int, max_prompt: int = 0
    ) -> "Past":
        """The past before the first position after the prompts."""
        ancestors = prompts.new_zeros(len(prompts), width, FIRST_ROOM)
        return cls(layers, ancestors, torch.zeros_like(prompts), prompts, 0, max_prompt)

    def extended(self) -> tuple["Past", Bool[Tensor, "batch width columns"]]:
        """The past with one more position, which the layers write next, and the mask of each hypothesis' columns."""
        (batch, width, room), device = self.ancestors.shape, self.ages.device
        if self.max_age == room:
            self.ancestors, room = functional.pad(self.ancestors, (0, room)), 2 * room
        hypotheses, length = torch.arange(width, device=device), self.max_age + 1
        positions = torch.arange(length, device=device)
        self.ancestors[torch.arange(batch, device=device), :, self.ages] = hypotheses
        for layer in self.layers:
            layer.next = (self.prompts + self.ages * width)[:, None] + hypotheses
            layer.room, layer.length = self.max_prompt + room * width, self.max_prompt + length * width
        columns = self.prompts[:, None, None] + positions * width + self.ancestors[:, :, :length]
        is_read = (positions <= self.ages[:, None, None]).expand_as(columns)
        may_attend = torch.arange(self.max_prompt + length * width, device=device) < self.prompts[:, None, None]
        may_attend = may_attend.expand(-1, width, -1).scatter(2, columns, is_read)
        return replace(self, ages=self.ages + 1, max_age=length), may_attend

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "Past":
        """Hypothesis j of sentence i continues `parents[i, j]`. Only the table is moved."""
        return replace(self, ancestors=self.ancestors.gather(1, parents[:, :, None].expand_as(self.ancestors)))

    def keep(self, rows: Int[Tensor, " rows"]) -> "Past":
        """A copy of these sentences."""
        ages, prompts = self.ages[rows], self.prompts[rows]
        max_age, max_prompt = int(ages.max()), int(prompts.max())
        used = max_prompt + max_age * self.ancestors.shape[1]
        layers = tuple(Columns(*(part[rows, :, :used] for part in layer.parts)) for layer in self.layers)
        return Past(layers, self.ancestors[rows], ages, prompts, max_age, max_prompt)

    def release(self, slots: Int[Tensor, " slots"]) -> "Past":
        """These sentences start anew, so that they need no further room."""
        return replace(self, ages=self.ages.index_fill(0, slots, 0))

    def admit(self, fresh: "Past", slots: Int[Tensor, " fresh"]) -> "Past":
        """Insert fresh sentences at `slots`, with their prompts."""
        layers = tuple(old.admit(new, slots) for old, new in zip(self.layers, fresh.layers, strict=True))
        ancestors = put_rows(self.ancestors, fresh.ancestors, slots)
        ages, prompts = put_rows(self.ages, fresh.ages, slots), put_rows(self.prompts, fresh.prompts, slots)
        return Past(layers, ancestors, ages, prompts, int(ages.max()), int(prompts.max()))


@dataclass(frozen=True, slots=True)
class Cells(State):
    """The vectors of each recurrent layer, (batch, width, size) each: one, or two for an LSTM."""

    layers: tuple[list[Tensor], ...]

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "Cells":
        return self.changed(lambda part: part.gather(1, parents[:, :, None].expand(-1, -1, part.shape[2])))


@dataclass(frozen=True, slots=True)
class SourceView(State):
    """The source as a decoder uses it, padded at the end: keys, values and the mask."""

    keys: Float[Tensor, "batch *heads source key_size"]
    values: Float[Tensor, "batch *heads source value_size"]
    may_attend: Bool[Tensor, "batch *#heads 1 source"] | Float[Tensor, "batch *#heads 1 source"]
    """True where a query may attend; or the same as a bias, see `attend`."""

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "SourceView":
        return self  # called in each layer at every step

    def admit(self, fresh: "SourceView", slots: Int[Tensor, " fresh"]) -> "SourceView":
        """With fresh sources; all are padded to the longest that is left."""
        wide = State.admit(self, fresh, slots)
        longest = int(wide.may_attend.flatten(1).any(dim=0).sum())
        keys, values = (part[..., :longest, :] for part in (wide.keys, wide.values))
        return SourceView(keys, values, wide.may_attend[..., :longest])
