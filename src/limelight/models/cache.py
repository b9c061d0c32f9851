"""What a decoder carries from step to step: keys and values in growing buffers, or the cells of recurrent layers.

All hypotheses of a sentence share one row of columns. Each step adds a column per hypothesis, and a boolean mask
records which columns belong to the past of each hypothesis. Reordering hypotheses changes only the mask; keys and
values stay where they were written. A common prefix (a prompt) is stored once per sentence.

A sentence that joins later has its prompt in the first columns and appends at the current step; the columns in between
are masked, so sentences of different age can share a batch. Columns that no hypothesis attends to any more are removed
at intervals.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from limelight.shapes import Bool, Float, Int

FIRST_ROOM = 16
"""Initial capacity of a buffer in positions; it doubles when full."""

SQUEEZE_EVERY = 4
"""Positions between two checks for columns that can be removed."""


class Columns:
    """Keys and values of one layer, (batch, heads, length, size) each, in buffers with capacity for more."""

    def __init__(self, *parts: Float[Tensor, "batch heads length _"], room: int = 0) -> None:
        """A copy of these columns, with capacity for at least `room`; without parts there are none yet."""
        self.length = parts[0].shape[2] if parts else 0
        self.buffers = tuple(_with_room(part, max(room, self.length)) for part in parts)

    def views(self) -> tuple[Float[Tensor, "batch heads length _"], ...]:
        """The columns, without a copy."""
        return tuple(buffer[:, :, : self.length] for buffer in self.buffers)

    def append(self, *new: Float[Tensor, "batch heads width _"]) -> tuple[Float[Tensor, "batch heads length _"], ...]:
        """Write new keys and values after the last; returns all."""
        length = self.length + new[0].shape[2]
        if not self.buffers or length > self.buffers[0].shape[2]:
            room = max(length, 2 * self.length, FIRST_ROOM * new[0].shape[2])
            before = self.views() or tuple(part[:, :, :0] for part in new)
            self.buffers = tuple(_with_room(part, room) for part in before)
        for buffer, part in zip(self.buffers, new, strict=True):
            buffer[:, :, self.length : length] = part
        self.length = length
        return self.views()

    def changed(self, change: Callable[[Tensor], Tensor]) -> "Columns":
        """New columns from a function of the keys and of the values, with the same capacity."""
        room = self.buffers[0].shape[2] if self.buffers else 0
        return Columns(*map(change, self.views()), room=room)

    def put(self, fresh: "Columns", rows: Int[Tensor, " fresh"]) -> None:
        """Write `fresh` over the first columns of these rows; new columns of other rows are zero."""
        missing = fresh.length - self.length
        if missing > 0:
            self.append(*(part.new_zeros(*part.shape[:2], missing, part.shape[3]) for part in self.views()))
        for buffer, part in zip(self.buffers, fresh.views(), strict=True):
            buffer[rows, :, : fresh.length] = part


def _with_room(columns: Float[Tensor, "batch heads columns size"], room: int) -> Float[Tensor, "batch heads _ size"]:
    batch, heads, length, size = columns.shape
    buffer = columns.new_empty(batch, heads, room, size)
    buffer[:, :, :length] = columns
    return buffer


def _at_least(rows: Tensor, batch: int) -> Tensor:
    """The rows, and rows of zeros up to `batch`."""
    return torch.cat([rows, rows.new_zeros(max(0, batch - len(rows)), *rows.shape[1:])])


@dataclass(frozen=True, slots=True)
class Past:
    """Keys and values of each decoder layer, and the mask of columns that each hypothesis may attend to.

    `may_attend` is None while every hypothesis may attend to all columns: one hypothesis per sentence, all of the same
    age.
    """

    layers: tuple[Columns, ...]
    may_attend: Bool[Tensor, "batch width columns"] | None
    width: int

    @property
    def length(self) -> int:
        """Number of columns."""
        return self.layers[0].length if self.layers else 0

    def max_age(self, ages: Int[Tensor, " batch"]) -> int:
        """An upper bound of the ages, without waiting for the device."""
        return self.length

    def next_permission(self, batch: int, device: torch.device) -> Bool[Tensor, "batch width columns"] | None:
        """`may_attend` extended by one position, in which each hypothesis may attend only to its own column."""
        if self.may_attend is None and self.width == 1:
            return None
        own = torch.eye(self.width, dtype=torch.bool, device=device).expand(batch, -1, -1)
        return own if self.may_attend is None else torch.cat([self.may_attend, own], dim=-1)

    def advanced(self, may_attend: Bool[Tensor, "batch width columns"] | None) -> "Past":
        """The past after one more position, which has been appended to the columns."""
        return replace(self, may_attend=may_attend)

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "Past":
        """Hypothesis j of sentence i continues `parents[i, j]`. Only the mask is moved."""
        if self.may_attend is None:
            return self
        moved = self.may_attend.gather(1, parents[:, :, None].expand_as(self.may_attend))
        past = replace(self, may_attend=moved)
        return past._squeezed() if self.length // self.width % SQUEEZE_EVERY == 0 else past

    def keep(self, rows: Int[Tensor, " rows"]) -> "Past":
        """A copy of these sentences."""
        layers = tuple(each.changed(lambda part: part[rows]) for each in self.layers)
        return replace(self, layers=layers, may_attend=None if self.may_attend is None else self.may_attend[rows])

    def admit(self, fresh: "Past", rows: int, slots: Int[Tensor, " fresh"]) -> "Past":
        """Insert fresh sentences at `slots`, with their initial columns; so far there are `rows` sentences."""
        batch = max(rows, int(slots.max()) + 1)
        layers = self.layers
        if batch > rows:
            layers = tuple(each.changed(lambda part: _at_least(part, batch)) for each in layers)
        permitted = torch.zeros(batch, self.width, self.length, dtype=torch.bool, device=slots.device)
        permitted[:rows] = True if self.may_attend is None else self.may_attend
        permitted[slots] = False
        past = replace(self, layers=layers, may_attend=permitted)._squeezed()
        return past._with_prompts(fresh, batch, slots) if fresh.length else past

    def _with_prompts(self, fresh: "Past", batch: int, slots: Int[Tensor, " fresh"]) -> "Past":
        """Write the initial columns of fresh sentences over the first columns of `slots`, which are masked."""
        assert self.may_attend is not None
        layers = self.layers
        if not layers[0].buffers:
            layers = tuple(
                Columns(*(part.new_zeros(batch, part.shape[1], 0, part.shape[3]) for part in each.views()))
                for each in fresh.layers
            )
        permitted = functional.pad(self.may_attend, (0, max(0, fresh.length - self.length)))
        for layer, prompt in zip(layers, fresh.layers, strict=True):
            layer.put(prompt, slots)
        permitted[slots, :, : fresh.length] = True if fresh.may_attend is None else fresh.may_attend
        return replace(self, layers=layers, may_attend=permitted)

    def _squeezed(self) -> "Past":
        """Remove the columns that no hypothesis attends to, once at most half are in use.

        Columns of pruned hypotheses and finished sentences would otherwise take part in every product.
        """
        assert self.may_attend is not None
        used = self.may_attend.any(dim=1)
        most = int(used.sum(dim=1).max())
        if 2 * most > self.length or not self.length:
            return self
        # A stable sort moves the columns in use to the front and keeps their order.
        chosen = (~used).to(torch.uint8).argsort(dim=1, stable=True)[:, :most]
        rows = torch.arange(len(chosen), device=chosen.device)[:, None]
        # Indices on both sides of a slice: (batch, chosen, heads, size) -> (batch, heads, chosen, size)
        layers = tuple(each.changed(lambda part: part[rows, :, chosen].transpose(1, 2)) for each in self.layers)
        permitted = self.may_attend.gather(2, chosen[:, None].expand(-1, self.width, -1))
        return replace(self, layers=layers, may_attend=permitted)


@dataclass(slots=True)
class Cell:
    """What a recurrent layer carries, whatever the number of positions."""

    vectors: Float[Tensor, "batch width model"]


@dataclass(frozen=True, slots=True)
class Cells:
    """The cell of each recurrent decoder layer."""

    layers: tuple[Cell, ...]

    def max_age(self, ages: Int[Tensor, " batch"]) -> int:
        """An upper bound of the ages."""
        return int(ages.max())

    def next_permission(self, batch: int, device: torch.device) -> None:
        """Nothing is attended to."""

    def advanced(self, may_attend: Bool[Tensor, "batch width columns"] | None) -> "Cells":
        """The cells after one more position, which have been replaced."""
        return self

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "Cells":
        """Hypothesis j of sentence i continues `parents[i, j]`."""
        return self._changed(lambda cell: cell.gather(1, parents[:, :, None].expand_as(cell)))

    def keep(self, rows: Int[Tensor, " rows"]) -> "Cells":
        """A copy of these sentences."""
        return self._changed(lambda cell: cell[rows])

    def admit(self, fresh: "Cells", rows: int, slots: Int[Tensor, " fresh"]) -> "Cells":
        """Insert fresh sentences at `slots`, in place if there is room."""
        pairs = zip(self.layers, fresh.layers, strict=True)
        return Cells(tuple(Cell(put_rows(cell.vectors, new.vectors, slots)) for cell, new in pairs))

    def _changed(self, change: Callable[[Tensor], Tensor]) -> "Cells":
        return Cells(tuple(Cell(change(cell.vectors)) for cell in self.layers))


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
    """Pad with zeros at the end of each axis to `shape`, with the memory order of the last two axes kept."""
    if list(values.shape) == shape:
        return values
    swapped = values.ndim > 2 and values.stride(-1) > values.stride(-2)
    wide = (
        values.new_zeros([*shape[:-2], shape[-1], shape[-2]]).transpose(-1, -2) if swapped else values.new_zeros(shape)
    )
    wide[tuple(slice(length) for length in values.shape)] = values
    return wide
