"""What a decoder carries from step to step: keys and values in growing buffers, or the cells of recurrent layers.

A position of a sentence is a column for each of its hypotheses, side by side. Keys and values stay where they were
written; a table says for each hypothesis whose column of a position belongs to its past, and only this table changes
when hypotheses are reordered. Every sentence has its own age, so sentences can join at any step. A common prefix (a
prompt) has one column per position, whatever the number of hypotheses.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

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
            self.parts = parts = tuple(_with_columns(part, self.room) for part in parts)
        rows = torch.arange(len(self.next), device=self.next.device)[:, None]
        for part, more in zip(parts, new, strict=True):
            part[rows, :, self.next] = more.transpose(1, 2)
        return tuple(part[:, :, : self.length] for part in parts)

    def admit(self, fresh: "Columns", slots: Int[Tensor, " fresh"], batch: int) -> "Columns":
        """With the columns of fresh sentences in these slots."""
        if not self.parts and not fresh.parts:
            return self
        given = fresh.parts or tuple(part.new_zeros(len(slots), *part.shape[1:])[:, :, :0] for part in self.parts)
        own = self.parts or tuple(part.new_zeros(batch, *part.shape[1:])[:, :, :0] for part in given)
        return Columns(*(put_rows(part, new, slots, axis=2) for part, new in zip(own, given, strict=True)))


def _with_columns(part: Float[Tensor, "batch heads columns size"], count: int) -> Float[Tensor, "batch heads _ size"]:
    return functional.pad(part, (0, 0, 0, count - part.shape[2]))


@dataclass(slots=True)
class Past:
    """Keys and values of each decoder layer, and whose they are.

    Attributes:
        ancestors: index of each hypothesis' ancestor at each position after the prompt.
        ages: number of positions after the prompt that have been read.
        prompts: number of positions of each prompt.
        most, longest: upper bounds of `ages` and `prompts`, known without waiting for the device.
    """

    layers: tuple[Columns, ...]
    ancestors: Int[Tensor, "batch width room"]
    ages: Int[Tensor, " batch"]
    prompts: Int[Tensor, " batch"]
    most: int = 0
    longest: int = 0

    @classmethod
    def begin(cls, layers: tuple[Columns, ...], prompts: Int[Tensor, " batch"], width: int, longest: int = 0) -> "Past":
        """The past before the first position after the prompts."""
        ancestors = prompts.new_zeros(len(prompts), width, FIRST_ROOM)
        return cls(layers, ancestors, torch.zeros_like(prompts), prompts, 0, longest)

    @property
    def bound(self) -> int:
        """Exceeds the position of every sentence."""
        return self.longest + self.most + 1

    def extended(self) -> tuple["Past", Bool[Tensor, "batch width columns"]]:
        """The past with one more position, which the layers write next, and the mask of each hypothesis' columns."""
        batch, width, room = self.ancestors.shape
        if self.most == room:
            self.ancestors, room = functional.pad(self.ancestors, (0, room)), 2 * room
        hypotheses, length = torch.arange(width, device=self.ages.device), self.most + 1
        positions = torch.arange(length, device=self.ages.device)
        self.ancestors[torch.arange(batch, device=self.ages.device), :, self.ages] = hypotheses
        for layer in self.layers:
            layer.next = (self.prompts + self.ages * width)[:, None] + hypotheses
            layer.room, layer.length = self.longest + room * width, self.longest + length * width
        columns = self.prompts[:, None, None] + positions * width + self.ancestors[:, :, :length]
        is_read = (positions <= self.ages[:, None, None]).expand_as(columns)
        may_attend = torch.arange(self.longest + length * width, device=self.ages.device) < self.prompts[:, None, None]
        may_attend = may_attend.expand(-1, width, -1).scatter(2, columns, is_read)
        return replace(self, ages=self.ages + 1, most=length), may_attend

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "Past":
        """Hypothesis j of sentence i continues `parents[i, j]`. Only the table is moved."""
        return replace(self, ancestors=self.ancestors.gather(1, parents[:, :, None].expand_as(self.ancestors)))

    def keep(self, rows: Int[Tensor, " rows"]) -> "Past":
        """A copy of these sentences."""
        ages, prompts = self.ages[rows], self.prompts[rows]
        most, longest = int(ages.max()), int(prompts.max())
        used = longest + most * self.ancestors.shape[1]
        layers = tuple(Columns(*(part[rows, :, :used] for part in layer.parts)) for layer in self.layers)
        return Past(layers, self.ancestors[rows], ages, prompts, most, longest)

    def release(self, slots: Int[Tensor, " slots"]) -> "Past":
        """These sentences start anew, so that their ages do not exceed the learned positions."""
        return replace(self, ages=self.ages.index_fill(0, slots, 0))

    def admit(self, fresh: "Past", slots: Int[Tensor, " fresh"]) -> "Past":
        """Insert fresh sentences at `slots`, with their prompts."""
        batch = max(len(self.ages), int(slots.max()) + 1)
        layers = tuple(old.admit(new, slots, batch) for old, new in zip(self.layers, fresh.layers, strict=True))
        ancestors = put_rows(self.ancestors, fresh.ancestors, slots, axis=2)
        ages, prompts = put_rows(self.ages, fresh.ages, slots), put_rows(self.prompts, fresh.prompts, slots)
        return Past(layers, ancestors, ages, prompts, int(ages.max()), int(prompts.max()))


@dataclass(slots=True)
class Cells:
    """The vectors of each recurrent layer, (batch, width, size) each: one, or two for an LSTM."""

    layers: tuple[list[Tensor], ...]

    def repeated(self, width: int) -> "Cells":
        """Copies for `width` hypotheses: they diverge, and their rows are written to."""
        return self._changed(lambda part: part.repeat(1, width, 1))

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "Cells":
        """Hypothesis j of sentence i continues `parents[i, j]`."""
        return self._changed(lambda part: part.gather(1, parents[:, :, None].expand(-1, -1, part.shape[2])))

    def keep(self, rows: Int[Tensor, " rows"]) -> "Cells":
        """A copy of these sentences."""
        return self._changed(lambda part: part[rows])

    def admit(self, fresh: "Cells", slots: Int[Tensor, " fresh"]) -> "Cells":
        """Insert fresh sentences at `slots`, in place if there is room."""
        pairs = zip(self.layers, fresh.layers, strict=True)
        return Cells(tuple([put_rows(part, new, slots) for part, new in zip(*layers, strict=True)] for layers in pairs))

    def release(self, slots: Int[Tensor, " slots"]) -> "Cells":
        """Nothing is to be done for these sentences."""
        return self

    def _changed(self, change: Callable[[Tensor], Tensor]) -> "Cells":
        return Cells(tuple(list(map(change, layer)) for layer in self.layers))


def put_rows(rows: Tensor, fresh: Tensor, slots: Int[Tensor, " fresh"], axis: int | None = None) -> Tensor:
    """Write `fresh` into these rows, which may lie beyond the last; zeros pad both to equal length along `axis`.

    In place if the shape allows it.
    """
    shape = [max(len(rows), int(slots.max()) + 1), *rows.shape[1:]]
    if axis is not None:
        shape[axis] = max(rows.shape[axis], fresh.shape[axis])
    rows = _padded(rows, shape)
    rows[slots] = _padded(fresh, [len(fresh), *shape[1:]])
    return rows


def _padded(values: Tensor, shape: list[int]) -> Tensor:
    """Pad with zeros at the end of each axis to `shape`."""
    if list(values.shape) == shape:
        return values
    wide = values.new_zeros(shape)
    wide[tuple(slice(length) for length in values.shape)] = values
    return wide
