"""Keys and values of the target so far, in buffers with room, so that a step copies nothing of what is there already.

All hypotheses of a sentence share one row of columns: each step adds a column for each of them, and a table of truth
values says which columns are a hypothesis' own past. When hypotheses change places, only that table moves: the keys and
values stay where they were written. A sentence that joins later begins in the columns of that step and may look at none
before them, so sentences of different age stand side by side.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from limelight.shapes import Bool, Float, Int

FIRST_ROOM = 16
"""Positions a buffer holds at first; it doubles when they are full."""


class Buffer:
    """Columns that are written once, and how many are."""

    def __init__(self, columns: Float[Tensor, "batch heads room size"]) -> None:
        self.columns = columns
        self.written = 0


@dataclass(frozen=True, slots=True)
class Columns:
    """The first `length` columns of a buffer."""

    buffer: Buffer
    length: int

    @classmethod
    def empty(cls, like: Float[Tensor, "batch heads any size"]) -> "Columns":
        """No columns yet, and no room for any."""
        return cls(Buffer(like[:, :, :0]), 0)

    def append(self, new: Float[Tensor, "batch heads width size"]) -> "Columns":
        """These columns and the new ones. In place, unless there is no room or others have been written behind."""
        width = new.shape[2]
        buffer, length = self.buffer, self.length + width
        if buffer.written != self.length or length > buffer.columns.shape[2]:
            buffer = self._with_room(max(2 * self.length, FIRST_ROOM * width), new)
        buffer.columns[:, :, self.length : length] = new
        buffer.written = length
        return Columns(buffer, length)

    def view(self) -> Float[Tensor, "batch heads length size"]:
        """The columns themselves, not a copy."""
        return self.buffer.columns[:, :, : self.length]

    def take(self, rows: Int[Tensor, " rows"]) -> "Columns":
        """The columns of these sentences, copied."""
        return _filled(self.view()[rows])

    def widen(self, batch: int) -> "Columns":
        """Room for more sentences, whose columns so far are zero."""
        view = self.view()
        wide = view.new_zeros(batch, *view.shape[1:])
        wide[: len(view)] = view
        return _filled(wide)

    def drop_first(self, count: int) -> "Columns":
        """Without the first columns."""
        return _filled(self.view()[:, :, count:])

    def _with_room(self, room: int, like: Tensor) -> Buffer:
        batch, heads, _, size = like.shape
        buffer = Buffer(like.new_zeros(batch, heads, room, size))
        buffer.columns[:, :, : self.length] = self.view()
        return buffer


def _filled(columns: Tensor) -> Columns:
    buffer = Buffer(columns)
    buffer.written = columns.shape[2]
    return Columns(buffer, columns.shape[2])


@dataclass(frozen=True, slots=True)
class Past:
    """Keys and values of each decoder layer, and who may look at which.

    `may_attend` is None while every hypothesis looks at all columns: with one a sentence, and all of one age.
    """

    layers: tuple[tuple[Columns, Columns], ...]
    may_attend: Bool[Tensor, "batch width columns"] | None
    width: int

    @property
    def length(self) -> int:
        """Columns there are."""
        return self.layers[0][0].length if self.layers else 0

    def next_permission(self, batch: int, device: torch.device) -> Bool[Tensor, "batch width more"] | None:
        """`may_attend` with the columns of one more position, in which each hypothesis sees its own."""
        if self.may_attend is None and self.width == 1:
            return None
        own = torch.eye(self.width, dtype=torch.bool, device=device).expand(batch, -1, -1)
        return own if self.may_attend is None else torch.cat([self.may_attend, own], dim=-1)

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "Past":
        """Hypotheses change places: their columns do not."""
        if self.may_attend is None:
            return self
        moved = self.may_attend.gather(1, parents[:, :, None].expand_as(self.may_attend))
        return replace(self, may_attend=moved)

    def keep(self, rows: Int[Tensor, " rows"]) -> "Past":
        """These sentences alone, copied."""
        layers = tuple((keys.take(rows), values.take(rows)) for keys, values in self.layers)
        return replace(self, layers=layers, may_attend=None if self.may_attend is None else self.may_attend[rows])

    def clear(self, places: Int[Tensor, " places"], batch: int) -> "Past":
        """These places begin anew, and see nothing of what was there; there are `batch` places then.

        Columns that nobody looks at any more are dropped once they are half of all.
        """
        rows = len(self.layers[0][0].view())
        layers = self.layers
        if batch > rows:
            layers = tuple((keys.widen(batch), values.widen(batch)) for keys, values in layers)
        seen = torch.zeros(batch, self.width, self.length, dtype=torch.bool, device=places.device)
        seen[:rows] = True if self.may_attend is None else self.may_attend
        seen[places] = False
        dead = self._unseen(seen)
        if 2 * dead >= self.length:
            seen = seen[:, :, dead:]
            layers = tuple((keys.drop_first(dead), values.drop_first(dead)) for keys, values in layers)
        return replace(self, layers=layers, may_attend=seen)

    def _unseen(self, seen: Bool[Tensor, "batch width columns"]) -> int:
        """How many of the first columns nobody sees."""
        anybody = seen.any(dim=0).any(dim=0)
        return int(anybody.int().argmax()) if anybody.any() else len(anybody)


def put_rows(rows: Tensor, fresh: Tensor, places: Int[Tensor, " fresh"], axis: int | None = None) -> Tensor:
    """`fresh` at these rows, some of which may stand behind the last; zeros pad both along `axis` to one length.

    In place where there is room for them.
    """
    batch = max(len(rows), int(places.max()) + 1)
    shape = [batch, *rows.shape[1:]]
    if axis is not None:
        shape[axis] = max(rows.shape[axis], fresh.shape[axis])
    if list(rows.shape) != shape:
        wide = rows.new_zeros(shape)
        (wide[: len(rows)] if axis is None else wide[: len(rows)].narrow(axis, 0, rows.shape[axis])).copy_(rows)
        rows = wide
    if axis is not None and fresh.shape[axis] < shape[axis]:
        wide = fresh.new_zeros([len(fresh), *shape[1:]])
        wide.narrow(axis, 0, fresh.shape[axis]).copy_(fresh)
        fresh = wide
    rows[places] = fresh
    return rows
