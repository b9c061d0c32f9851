"""What a Transformer carries from step to step in buffers of fixed sizes and places, as CUDA graphs need them.

There are more rows, columns and source positions than are in use, in powers of two; the rest is masked, and what is
computed for it is never read. A step is the readable decoder's (`models/transformer`), with these buffers as its state.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from limelight.errors import UserError
from limelight.models.cache import Buffer, Columns, Past
from limelight.models.interface import State, longest_sequence
from limelight.models.transformer import Transformer, TransformerState
from limelight.models.transformer.layers import SourceView
from limelight.shapes import Float, Int

FIRST_ROOM = 32
"""Positions there is room for at first; it doubles when they are full."""
FIRST_SOURCE = 32
"""Source positions there is room for at least."""

Run = Callable[[], None]
Record = Callable[[Run], Run]
"""From a function without arguments to one that does the same with the same tensors, faster. It may call it."""


@dataclass(frozen=True, slots=True)
class FixedColumns(Columns):
    """Columns that are all there from the beginning; new ones are written at places that a tensor says."""

    places: Int[Tensor, "batch 1 width 1"]

    def append(self, new: Float[Tensor, "batch heads width size"]) -> "FixedColumns":
        """The same columns, overwritten at the places."""
        self.buffer.columns.scatter_(2, self.places.expand_as(new), new)
        return self


@dataclass(frozen=True, slots=True)
class FixedPast(Past):
    """The past in fixed buffers; `may_attend` has the columns of the next position already."""

    room: int

    @property
    def length(self) -> int:
        """Positions that there may be before the next one."""
        return self.room - 1

    def next_permission(self, batch: int, device: torch.device) -> Tensor | None:
        """As it is."""
        return self.may_attend


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of buffers."""

    batch: int
    width: int
    room: int
    source: int


class Buffers:
    """The tensors of a step, and the step."""

    def __init__(self, model: Transformer, sizes: Sizes, like: TransformerState) -> None:
        self.sizes, self._model = sizes, model
        batch, width, columns = sizes.batch, sizes.width, sizes.room * sizes.width
        one = like.sources[0].keys

        def whole(*shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.zeros(*shape, dtype=dtype, device=one.device)

        self.ids, self.ages, self.positions = whole(batch, width), whole(batch), whole(batch)
        self.permitted = whole(batch, width, columns, dtype=torch.bool)
        self.source_valid = whole(batch, 1, 1, sizes.source, dtype=torch.bool)
        self.source_valid[..., 0] = True  # for rows that are not in use: a softmax over nothing is not a number
        self.places = whole(batch, 1, width, 1)
        self.keys, self.values, self.source_keys, self.source_values = (
            [whole(batch, part.shape[1], length, part.shape[3], dtype=part.dtype) for part in parts]
            for parts, length in (
                ([source.keys for source in like.sources], columns),
                ([source.values for source in like.sources], columns),
                ([source.keys for source in like.sources], sizes.source),
                ([source.values for source in like.sources], sizes.source),
            )
        )
        self.features = whole(batch, width, model.decoder.embedding.weight.shape[1], dtype=one.dtype)
        self._own = torch.arange(width, device=one.device)
        self.state = self._as_state()
        self._table = getattr(model.decoder.positions, "table", None)  # kept, as a graph reads it where it lies
        self.replay: Run | None = None

    def _as_state(self) -> TransformerState:
        columns = self.permitted.shape[2]
        layers = tuple(
            (FixedColumns(Buffer(keys), columns, self.places), FixedColumns(Buffer(values), columns, self.places))
            for keys, values in zip(self.keys, self.values, strict=True)
        )
        sources = tuple(
            SourceView(keys, values, self.source_valid)
            for keys, values in zip(self.source_keys, self.source_values, strict=True)
        )
        past = FixedPast(layers, self.permitted, self.sizes.width, self.sizes.room)
        return TransformerState(past, self.positions, None, sources)

    def run(self) -> None:
        """One position of every hypothesis: reads `ids`, writes `features`, and ages. Nothing here may depend on a
        number that is on the device, as a recording would keep it."""
        torch.clamp(self.ages, max=self.sizes.room - 1, out=self.positions)  # rows that are not in use age, too
        columns = self.positions[:, None] * self.sizes.width + self._own
        self.places.copy_(columns[:, None, :, None])
        self.permitted.scatter_(2, columns[:, :, None], True)
        features, _ = self._model.decoder.step(self.ids, self.state)
        self.features.copy_(features)
        self.ages.add_(1)

    def step(self, record: Record) -> None:
        """`run`, recorded the first time."""
        if self.replay is None:
            ages, permitted = self.ages.clone(), self.permitted.clone()
            self.replay = record(self.run)
            self.ages.copy_(ages)
            self.permitted.copy_(permitted)  # keys and values that a call has left are overwritten before they are read
            self._table = getattr(self._model.decoder.positions, "table", None)
        self.replay()

    def take(self, other: "Buffers", rows: Int[Tensor, " rows"]) -> None:
        """Take these rows of other buffers, or of the same, as the first."""
        for mine, theirs in zip(self._of_rows(), other._of_rows(), strict=True):
            part = theirs[rows]
            mine[(slice(len(rows)), *(slice(size) for size in part.shape[1:]))] = part

    def begin(self, rows: Int[Tensor, " rows"], fresh: TransformerState) -> None:
        """Sentences before their first step, in these rows."""
        self.ages[rows], self.permitted[rows], self.source_valid[rows] = 0, False, False
        length = fresh.sources[0].keys.shape[2]
        valid = fresh.sources[0].may_attend
        self.source_valid[rows, :, :, :length] = True if valid is None else valid
        for keys, values, source in zip(self.source_keys, self.source_values, fresh.sources, strict=True):
            keys[rows, :, :length], values[rows, :, :length] = source.keys, source.values

    def _of_rows(self) -> Iterator[Tensor]:
        yield from (self.ages, self.permitted, self.source_valid)
        for tensors in (self.keys, self.values, self.source_keys, self.source_values):
            yield from tensors


class FixedState(State):
    """Sentences in the first rows of buffers; before the first step a readable state."""

    def __init__(self, model: Transformer, record: Record, fresh: TransformerState, width: int) -> None:
        self._model, self._record, self._width = model, record, width
        self._fresh: TransformerState | None = fresh
        self._held: Buffers | None = None
        self._rows = len(fresh.ages)
        self._oldest = 0
        """No sentence is older; the true age is asked for, and waited for, only where there might be no room."""

    def step(self, ids: Int[Tensor, "batch width"]) -> Float[Tensor, "batch width model"]:
        """The features after one more token of each hypothesis."""
        buffers = self._with_room()
        buffers.ids[: self._rows] = ids
        buffers.step(self._record)
        self._oldest += 1
        return buffers.features[: self._rows].clone()

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "FixedState":
        if self._held is not None:
            permitted = self._held.permitted[: self._rows]
            permitted.copy_(permitted.gather(1, parents[:, :, None].expand_as(permitted)))
        return self

    def keep(self, sentences: Int[Tensor, " kept"]) -> "FixedState":
        self._rows = len(sentences)
        if self._held is None:
            assert self._fresh is not None
            self._fresh = self._fresh.keep(sentences)
        else:
            sizes = self._held.sizes
            self._held = self._moved(Sizes(_up(self._rows), sizes.width, sizes.room, sizes.source), sentences)
        return self

    def admit(self, fresh: "FixedState", places: Int[Tensor, " fresh"]) -> "FixedState":
        begun = fresh._fresh
        assert begun is not None
        rows = max(self._rows, int(places.max()) + 1)
        if self._held is None:
            assert self._fresh is not None
            self._fresh, self._rows = self._fresh.admit(begun, places), rows
            return self
        sizes = self._held.sizes
        source = max(sizes.source, _up(begun.sources[0].keys.shape[2], FIRST_SOURCE))
        sizes = Sizes(max(sizes.batch, _up(rows)), sizes.width, sizes.room, source)
        if sizes != self._held.sizes:
            self._held = self._moved(sizes, torch.arange(self._rows, device=places.device))
        self._held.begin(places, begun)
        self._rows = rows
        return self

    def release(self, places: Int[Tensor, " places"]) -> "FixedState":
        if self._held is not None:
            self._held.ages.index_fill_(0, places, 0)
        return self

    def _with_room(self) -> Buffers:
        """Buffers in which the next position can be written."""
        if self._held is None:
            assert self._fresh is not None
            room = _bounded(FIRST_ROOM, self._model)
            source = _up(self._fresh.sources[0].keys.shape[2], FIRST_SOURCE)
            self._held = Buffers(self._model, Sizes(_up(self._rows), self._width, room, source), self._fresh)
            self._held.begin(torch.arange(self._rows, device=self._fresh.ages.device), self._fresh)
            self._fresh = None
        sizes = self._held.sizes
        if self._oldest >= sizes.room:
            self._oldest = int(self._held.ages[: self._rows].max())
        if self._oldest < sizes.room:
            return self._held
        room = _bounded(2 * sizes.room, self._model)
        if room == sizes.room:
            raise UserError(
                f"a sequence of {room + 1} tokens is longer than the {room} learned positions of this model"
            )
        everything = torch.arange(self._rows, device=self._held.ages.device)
        self._held = self._moved(Sizes(sizes.batch, sizes.width, room, sizes.source), everything)
        return self._held

    def _moved(self, sizes: Sizes, rows: Int[Tensor, " rows"]) -> Buffers:
        """Buffers of these sizes that begin with these rows: the same ones where they fit."""
        old = self._held
        assert old is not None
        buffers = old if sizes == old.sizes else Buffers(self._model, sizes, old.state)
        buffers.take(old, rows)
        return buffers


def _up(count: int, least: int = 1) -> int:
    """The next power of two."""
    return max(least, 1 << (count - 1).bit_length())


def _bounded(room: int, model: Transformer) -> int:
    longest = longest_sequence(model)
    return room if longest is None else min(room, longest)
