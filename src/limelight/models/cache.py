"""Keys and values of the text so far, in buffers with room, so that a step copies nothing of what is there already.

All hypotheses of a sentence share one row of columns: each step adds a column for each of them, and a table of truth
values says which columns are a hypothesis' own past. When hypotheses change places, only that table moves: the keys and
values stay where they were written. What all hypotheses of a sentence begin with, a prompt, is there once for them. A
sentence that joins later finds its prompt in the first columns, continues in the columns of that step and may attend to
none between them, so sentences of different age stand side by side. Columns that no hypothesis attends to any more are
removed from time to time.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from limelight.shapes import Bool, Float, Int

FIRST_ROOM = 16
"""Positions a buffer holds at first; it doubles when they are full."""

SQUEEZE_EVERY = 4
"""Positions between two searches for columns that can be removed."""


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
    def empty(cls, like: Float[Tensor, "batch heads key size"]) -> "Columns":
        """No columns yet, and no room for any."""
        return cls(Buffer(like[:, :, :0]), 0)

    @classmethod
    def begun(cls, columns: Float[Tensor, "batch heads columns size"], *, width: int) -> "Columns":
        """What a text begins with, copied, and room for the first steps of so many hypotheses."""
        return _copied(columns, room=columns.shape[2] + FIRST_ROOM * width)

    def append(self, new: Float[Tensor, "batch heads width size"]) -> "Columns":
        """These columns and the new ones. In place, unless there is no room or others have been written behind."""
        width = new.shape[2]
        length = self.length + width
        if self.buffer.written != self.length or length > self.buffer.columns.shape[2]:
            return _copied(self.view(), room=max(2 * self.length, FIRST_ROOM * width)).append(new)
        self.buffer.columns[:, :, self.length : length] = new
        self.buffer.written = length
        return Columns(self.buffer, length)

    def view(self) -> Float[Tensor, "batch heads columns size"]:
        """The columns themselves, not a copy."""
        return self.buffer.columns[:, :, : self.length]

    def take(self, rows: Int[Tensor, " rows"]) -> "Columns":
        """The columns of these sentences, copied."""
        return _copied(self.view()[rows], room=self.buffer.columns.shape[2])

    def widen(self, batch: int) -> "Columns":
        """Room for more sentences, whose columns so far are zero."""
        view = self.view()
        wide = torch.cat([view, view.new_zeros(batch - len(view), *view.shape[1:])])
        return _copied(wide, room=self.buffer.columns.shape[2])

    def put(self, fresh: "Columns", rows: Int[Tensor, " fresh"]) -> "Columns":
        """The fresh columns become the first of these rows, in place where there is room; zeros fill up the others."""
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
        """These columns of each sentence, copied."""
        rows = torch.arange(len(places), device=places.device)[:, None]
        # Indices on both sides of a slice: (batch, picked, heads, size) -> (batch, heads, picked, size)
        return _copied(self.view()[rows, :, places].transpose(1, 2), room=self.buffer.columns.shape[2])


def _copied(columns: Float[Tensor, "batch heads columns size"], *, room: int) -> Columns:
    """The columns in a buffer of their own that has room for more."""
    batch, heads, length, size = columns.shape
    buffer = Buffer(columns.new_empty(batch, heads, room, size))
    buffer.columns[:, :, :length] = columns
    buffer.written = length
    return Columns(buffer, length)


@dataclass(frozen=True, slots=True)
class Past:
    """Keys and values of each decoder layer, and which positions may attend to which.

    `may_attend` is None while every hypothesis attends to all columns: with one per sentence, and all of one age.
    """

    layers: tuple[tuple[Columns, Columns], ...]
    may_attend: Bool[Tensor, "batch width columns"] | None
    width: int

    @property
    def length(self) -> int:
        """Columns there are."""
        return self.layers[0][0].length if self.layers else 0

    def next_permission(self, batch: int, device: torch.device) -> Bool[Tensor, "batch width columns"] | None:
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
        past = replace(self, may_attend=moved)
        return past._squeezed() if self.length // self.width % SQUEEZE_EVERY == 0 else past

    def keep(self, rows: Int[Tensor, " rows"]) -> "Past":
        """These sentences alone, copied."""
        layers = tuple((keys.take(rows), values.take(rows)) for keys, values in self.layers)
        return replace(self, layers=layers, may_attend=None if self.may_attend is None else self.may_attend[rows])

    def admit(self, fresh: "Past", places: Int[Tensor, " fresh"]) -> "Past":
        """Fresh sentences take these places, with the columns they begin with, and see nothing of what was there."""
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
        """The first columns of these places, which no hypothesis attends to, become those of the fresh sentences."""
        assert self.may_attend is not None
        layers = tuple(
            (keys.put(fresh_keys, places), values.put(fresh_values, places))
            for (keys, values), (fresh_keys, fresh_values) in zip(self.layers, fresh.layers, strict=True)
        )
        seen = functional.pad(self.may_attend, (0, max(0, fresh.length - self.length)))
        seen[places, :, : fresh.length] = True if fresh.may_attend is None else fresh.may_attend
        return replace(self, layers=layers, may_attend=seen)

    def _squeezed(self) -> "Past":
        """Without the columns that no hypothesis of their sentence attends to, once those are half of all.

        What beams leave behind, and sentences that have gone, would else be compared with every query.
        """
        assert self.may_attend is not None
        seen = self.may_attend.any(dim=1)
        most = int(seen.sum(dim=1).max())
        if 2 * most > self.length:
            return self
        # A stable sort leaves those that are seen in their order, at the front.
        places = (~seen).to(torch.uint8).argsort(dim=1, stable=True)[:, :most]
        layers = tuple((keys.pick(places), values.pick(places)) for keys, values in self.layers)
        permitted = self.may_attend.gather(2, places[:, None].expand(-1, self.width, -1))
        return replace(self, layers=layers, may_attend=permitted)


def put_rows(rows: Tensor, fresh: Tensor, places: Int[Tensor, " fresh"], axis: int | None = None) -> Tensor:
    """`fresh` at these rows, some of which may stand behind the last; zeros pad both along `axis` to one length.

    In place where there is room for them.
    """
    shape = [max(len(rows), int(places.max()) + 1), *rows.shape[1:]]
    if axis is not None:
        shape[axis] = max(rows.shape[axis], fresh.shape[axis])
    rows = _padded(rows, shape)
    rows[places] = _padded(fresh, [len(fresh), *shape[1:]])
    return rows


def _padded(values: Tensor, shape: list[int]) -> Tensor:
    """The values in the first places of a larger tensor of zeros, its last two axes in memory as theirs are."""
    if list(values.shape) == shape:
        return values
    swapped = values.ndim > 2 and values.stride(-1) > values.stride(-2)
    wide = (
        values.new_zeros([*shape[:-2], shape[-1], shape[-2]]).transpose(-1, -2) if swapped else values.new_zeros(shape)
    )
    wide[tuple(slice(length) for length in values.shape)] = values
    return wide
