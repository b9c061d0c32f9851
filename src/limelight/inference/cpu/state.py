"""The state of a compiled Transformer between steps.

Keys and values stay where they were written; a table of ancestors records which of them are a hypothesis' own past, and
only that table changes when hypotheses are reordered. Every sentence has its own age, so that sentences can join at any
step, and padding is never read.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from limelight.inference.cpu.attention import follow_parents
from limelight.models.cache import put_rows
from limelight.models.interface import State
from limelight.shapes import Float, Int

FIRST_ROOM = 64
"""Initial capacity in positions; it doubles when full."""

Pairs = tuple[tuple[Tensor, Tensor], ...]
Past = tuple[tuple[Float[Tensor, "batch width room _ _"], Float[Tensor, "batch width room _ _"]], ...]
"""The last axes are heads and the size of a key or a value; for cells 1 and the width, without values."""
Sources = tuple[
    tuple[Float[Tensor, "batch source heads head_size"], Float[Tensor, "batch source heads value_size"]], ...
]


@dataclass(frozen=True, slots=True)
class CompiledState(State):
    """Keys and values of the target so far and of the source, for each decoder layer. A step writes into them."""

    past: Past
    """Keys and values; of a recurrent decoder (`SSRUDecoder`) the cells after each position, as keys of one head."""
    ancestors: Int[Tensor, "batch width room"]
    """Index of each hypothesis' ancestor at each position."""
    ages: Int[Tensor, " batch"]
    """Number of positions that each sentence's hypotheses have read."""
    sources: Sources
    """Keys and values."""
    lengths: Int[Tensor, " batch"]
    """Number of valid positions of each source."""

    @classmethod
    def begin(cls, sources: Sources, lengths: Int[Tensor, " batch"], width: int, *, cell: int = 0) -> "CompiledState":
        """The state before the first step. Self-attention has as many heads as cross-attention, of the same sizes.

        A recurrent decoder has cells of size `cell` in place of keys, and no values.
        """

        def room(part: Tensor) -> Tensor:
            return part.new_empty(len(part), width, FIRST_ROOM, *part.shape[2:])

        ancestors = torch.zeros(len(lengths), width, FIRST_ROOM, dtype=torch.int64)
        like = sources
        if cell:
            like = tuple(
                (keys.new_empty(len(keys), 0, 1, cell), keys.new_empty(len(keys), 0, 1, 0)) for keys, _ in sources
            )
        return cls(changed(like, room), ancestors, torch.zeros_like(lengths), sources, lengths)

    def reorder(self, parents: Int[Tensor, "batch width"]) -> "CompiledState":
        follow_parents(self.ancestors.numpy(), parents.numpy(), self.ages.numpy())
        return self

    def aged(self) -> "CompiledState":
        """Advance the ages by one position, in place."""
        ages = self.ages.numpy()
        ages += 1
        return self

    def keep(self, sentences: Int[Tensor, " kept"]) -> "CompiledState":
        ages = self.ages[sentences]
        used = int(ages.max())

        def kept(part: Tensor) -> Tensor:
            few = part.new_empty(len(sentences), *part.shape[1:])
            few[:, :, :used] = part[:, :, :used][sentences]
            return few

        return CompiledState(
            changed(self.past, kept),
            self.ancestors[sentences],
            ages,
            changed(self.sources, lambda part: part[sentences]),
            self.lengths[sentences],
        )

    def admit(self, fresh: "CompiledState", places: Int[Tensor, " fresh"]) -> "CompiledState":
        past, ancestors, batch = self.past, self.ancestors, int(places.max()) + 1
        if batch > len(ancestors):
            past, ancestors = self._widened(batch, ancestors.shape[2])
        lengths = put_rows(self.lengths, fresh.lengths, places)
        longest = int(lengths.max())
        sources = tuple(
            (put_rows(keys, fresh_keys, places, axis=1), put_rows(values, fresh_values, places, axis=1))
            for (keys, values), (fresh_keys, fresh_values) in zip(self.sources, fresh.sources, strict=True)
        )
        if 2 * longest <= sources[0][0].shape[1]:
            sources = changed(sources, lambda part: part[:, :longest].contiguous())
        # The past of these rows is not cleared: at age 0 none of it is read.
        return CompiledState(past, ancestors, put_rows(self.ages, fresh.ages, places), sources, lengths)

    def release(self, places: Int[Tensor, " places"]) -> "CompiledState":
        self.ages[places] = 0
        return self

    def with_room(self) -> "CompiledState":
        """A state with capacity for the next position."""
        room = self.ancestors.shape[2]
        if self.ages.numpy().max() < room:
            return self
        past, ancestors = self._widened(len(self.ages), 2 * room)
        return replace(self, past=past, ancestors=ancestors)

    def _widened(self, batch: int, room: int) -> tuple[Past, Int[Tensor, "{batch} width {room}"]]:
        """Past and ancestors for more sentences or positions. Only the used part is copied: copying the capacity takes
        several times as long."""
        used = int(self.ages.max())

        def widened(part: Tensor) -> Tensor:
            wide = part.new_empty(batch, part.shape[1], room, *part.shape[3:])
            wide[: len(part), :, :used] = part[:, :, :used]
            return wide

        ancestors = self.ancestors.new_zeros(batch, self.ancestors.shape[1], room)
        ancestors[: len(self.ages), :, : self.ancestors.shape[2]] = self.ancestors
        return changed(self.past, widened), ancestors


def changed(layers: Pairs, change: Callable[[Tensor], Tensor]) -> Pairs:
    """Apply a function to the keys and values of each layer."""
    return tuple((change(keys), change(values)) for keys, values in layers)
