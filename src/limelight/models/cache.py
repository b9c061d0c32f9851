"""Key-value cache of the decoder: growing buffers, so that a step does not copy earlier keys and values.

All hypotheses of a sentence share one row of columns. Each step adds a column per hypothesis, and a boolean mask
records which columns belong to the past of each hypothesis. Reordering hypotheses changes only the mask; keys and
values stay where they were written. A common prefix (a prompt) is stored once per sentence.

A sentence that joins later has its prompt in the first columns and appends at the current step; the columns in between
are masked, so sentences of different age can share a batch. Columns that no hypothesis attends to any more are removed
at intervals.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from limelight.shapes import Bool, Float, Int

FIRST_ROOM = 16
"""Initial capacity of a buffer in positions; it doubles when full."""

SQUEEZE_EVERY = 4
"""Positions between two checks for columns that can be removed."""


class Buffer:
    """Columns that are written once, and the number written so far."""

    def __init__(self, columns: Float[Tensor, "batch heads room size"]) -> None:
        self.columns = columns
        self.written = 0


@dataclass(frozen=True, slots=True)
class Columns:
    """The first `length` columns of a buffer."""

    buffer: Buffer
    length: int

    @classmethod
    def empty(cls, like: Float[Tensor, "batch heads key size"]) -> "Columns":
        """An empty sequence of columns with no capacity."""
        return cls(Buffer(like[:, :, :0]), 0)

    @classmethod
    def begun(cls, columns: Float[Tensor, "batch heads columns size"], *, width: int) -> "Columns":
        """A copy of initial columns (a prompt), with capacity for the first steps of `width` hypotheses."""
        return _copied(columns, room=columns.shape[2] + FIRST_ROOM * width)

    def append(self, new: Float[Tensor, "batch heads width size"]) -> "Columns":
        """Append `new` to these columns, in place unless the buffer is full or other columns were written after
        these."""
        width = new.shape[2]
        length = self.length + width
        if self.buffer.written != self.length or length > self.buffer.columns.shape[2]:
            begun = self.view() if self.length else new[:, :, :0]  # keys of the source may be wider
            return _copied(begun, room=max(2 * self.length, FIRST_ROOM * width)).append(new)
        self.buffer.columns[:, :, self.length : length] = new
        self.buffer.written = length
        return Columns(self.buffer, length)

    def view(self) -> Float[Tensor, "batch heads columns size"]:
        """A view of the columns: no copy."""
        return self.buffer.columns[:, :, : self.length]

    def take(self, rows: Int[Tensor, " rows"]) -> "Columns":
        """A copy of the columns of these sentences."""
        return _copied(self.view()[rows], room=self.buffer.columns.shape[2])

    def widen(self, batch: int) -> "Columns":
        """Add sentences up to `batch`, with columns of zeros."""
        view = self.view()
        wide = torch.cat([view, view.new_zeros(batch - len(view), *view.shape[1:])])
        return _copied(wide, room=self.buffer.columns.shape[2])

    def put(self, fresh: "Columns", rows: Int[Tensor, " fresh"]) -> "Columns":
        """Write `fresh` into the first columns of these rows, in place if the capacity suffices; new columns of other
        rows are zero."""
        whole = self
        if fresh.length > self.length:
            room = self.buffer.columns.shape[2]
            if self.buffer.written != self.length or fresh.length > room:
                whole = _copied(self.view(), room=max(fresh.buffer.columns.shape[2], room))
            whole.buffer.columns[:, :, self.length : fresh.length] = 0
            whole.buffer.written = fresh.length
        whole.buffer.columns[rows, :, : fresh.length] = fresh.view()
        return Columns(whole.buffer, max(self.length, fresh.length))

    def pick(self, places: Int[Tensor, "batch picked"]) -> "Columns":
        """A copy of the selected columns of each sentence."""
        rows = torch.arange(len(places), device=places.device)[:, None]
        # Indices on both sides of a slice: (batch, picked, heads, size) -> (batch, heads, picked, size)
        return _copied(self.view()[rows, :, places].transpose(1, 2), room=self.buffer.columns.shape[2])


def _copied(columns: Float[Tensor, "batch heads columns size"], *, room: int) -> Columns:
    """Copy the columns into a new buffer with capacity for `room` columns."""
    batch, heads, length, size = columns.shape
    buffer = Buffer(columns.new_empty(batch, heads, room, size))
    buffer.columns[:, :, :length] = columns
    buffer.written = length
    return Columns(buffer, length)


@dataclass(frozen=True, slots=True)
class Past:
    """Keys and values of each decoder layer, and the mask of columns that each hypothesis may attend to.

    `may_attend` is None while every hypothesis may attend to all columns: one hypothesis per sentence, all of the same
    age.
    """

    layers: tuple[tuple[Columns, Columns], ...]
    may_attend: Bool[Tensor, "batch width columns"] | None
    width: int

    @property
    def length(self) -> int:
        """Number of columns."""
        return self.layers[0][0].length if self.layers else 0

    def most_read(self, ages: Int[Tensor, " batch"]) -> int:
        """A number of positions that no age exceeds."""
        return self.length

    def advanced(
        self,
        layers: tuple[tuple[Columns, Columns], ...],
        may_attend: Bool[Tensor, "batch width columns"] | None,
    ) -> "Past":
        """The past after one more position."""
        return Past(layers, may_attend, self.width)

    def next_permission(self, batch: int, device: torch.device) -> Bool[Tensor, "batch width columns"] | None:
        """`may_attend` extended by one position, in which each hypothesis may attend only to its own column."""
        if self.may_attend is None and self.width == 1:
            return None
        own = torch.eye(self.width, dtype=torch.bool, device=device).expand(batch, -1, -1)
        return own if self.may_attend is None else torch.cat([self.may_attend, own], dim=-1)

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "Past":
        """Hypothesis j of sentence i continues `parents[i, j]`. Only the mask is moved."""
        if self.may_attend is None:
            return self
        moved = self.may_attend.gather(1, parents[:, :, None].expand_as(self.may_attend))
        past = replace(self, may_attend=moved)
        return past._squeezed() if self.length // self.width % SQUEEZE_EVERY == 0 else past

    def keep(self, rows: Int[Tensor, " rows"]) -> "Past":
        """A copy of these sentences."""
        layers = tuple((keys.take(rows), values.take(rows)) for keys, values in self.layers)
        return replace(self, layers=layers, may_attend=None if self.may_attend is None else self.may_attend[rows])

    def admit(self, fresh: "Past", places: Int[Tensor, " fresh"]) -> "Past":
        """Insert fresh sentences at `places` with their initial columns; existing columns of these rows are masked."""
        rows = len(self.layers[0][0].view())
        batch = max(rows, int(places.max()) + 1)
        layers = self.layers
        if batch > rows:
            layers = tuple((keys.widen(batch), values.widen(batch)) for keys, values in layers)
        seen = torch.zeros(batch, self.width, self.length, dtype=torch.bool, device=places.device)
        seen[:rows] = True if self.may_attend is None else self.may_attend
        seen[places] = False
        past = replace(self, layers=layers, may_attend=seen)._squeezed()
        return past._begun(fresh, places) if fresh.length else past

    def _begun(self, fresh: "Past", places: Int[Tensor, " fresh"]) -> "Past":
        """Write the initial columns of fresh sentences over the first columns of `places`, which are masked."""
        assert self.may_attend is not None
        layers = tuple(
            (keys.put(fresh_keys, places), values.put(fresh_values, places))
            for (keys, values), (fresh_keys, fresh_values) in zip(self.layers, fresh.layers, strict=True)
        )
        seen = functional.pad(self.may_attend, (0, max(0, fresh.length - self.length)))
        seen[places, :, : fresh.length] = True if fresh.may_attend is None else fresh.may_attend
        return replace(self, layers=layers, may_attend=seen)

    def _squeezed(self) -> "Past":
        """Remove the columns that no hypothesis attends to, once at most half are in use.

        Columns of pruned hypotheses and finished sentences would otherwise take part in every product.
        """
        assert self.may_attend is not None
        seen = self.may_attend.any(dim=1)
        most = int(seen.sum(dim=1).max())
        if 2 * most > self.length:
            return self
        # A stable sort moves the columns in use to the front and keeps their order.
        places = (~seen).to(torch.uint8).argsort(dim=1, stable=True)[:, :most]
        layers = tuple((keys.pick(places), values.pick(places)) for keys, values in self.layers)
        permitted = self.may_attend.gather(2, places[:, None].expand(-1, self.width, -1))
        return replace(self, layers=layers, may_attend=permitted)


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of each recurrent decoder layer: all that it carries, whatever the number of positions."""

    layers: tuple[Float[Tensor, "batch width model"], ...]

    def most_read(self, ages: Int[Tensor, " batch"]) -> int:
        """A number of positions that no age exceeds."""
        return int(ages.max())

    def next_permission(self, batch: int, device: torch.device) -> None:
        """Nothing is attended to."""

    def advanced(self, layers: tuple[Float[Tensor, "batch width model"], ...], may_attend: None) -> "Cells":
        """The cells after one more position."""
        return Cells(layers)

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "Cells":
        """Hypothesis j of sentence i continues `parents[i, j]`."""
        return Cells(tuple(cell.gather(1, parents[:, :, None].expand_as(cell)) for cell in self.layers))

    def keep(self, rows: Int[Tensor, " rows"]) -> "Cells":
        """A copy of these sentences."""
        return Cells(tuple(cell[rows] for cell in self.layers))

    def admit(self, fresh: "Cells", places: Int[Tensor, " fresh"]) -> "Cells":
        """Insert fresh sentences at `places`, in place if there is room."""
        return Cells(tuple(put_rows(cell, new, places) for cell, new in zip(self.layers, fresh.layers, strict=True)))


def put_rows(rows: Tensor, fresh: Tensor, places: Int[Tensor, " fresh"], axis: int | None = None) -> Tensor:
    """Write `fresh` into these rows, which may lie beyond the last; zeros pad both to equal length along `axis`.

    In place if the shape allows it.
    """
    shape = [max(len(rows), int(places.max()) + 1), *rows.shape[1:]]
    if axis is not None:
        shape[axis] = max(rows.shape[axis], fresh.shape[axis])
    rows = _padded(rows, shape)
    rows[places] = _padded(fresh, [len(fresh), *shape[1:]])
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
