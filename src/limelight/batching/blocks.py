"""Plain text as rows of equal length, without padding: an endless stream that can be resumed at any batch.

A batch is one look into a memory-mapped file. There are two ways to cut a text: shuffled blocks for models that see
nothing but their block, and blocks that go on row by row, for a state that is carried from batch to batch.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator

import numpy as np

from limelight.batching.batch import Batch, make_blocks
from limelight.batching.stream import Position
from limelight.errors import UserError


class BlockStream(ABC):
    """Batches cut from one text; a pure function of (text, seed, position).

    An epoch predicts every token once, but for a few at the ends of the text.

    Args:
        ids: (tokens,) the text, as `TextStore` has it.
        tokens: budget of a batch, which has `tokens / block` rows, or one.
        block: tokens that a row predicts.
        seed: of the order.

    Raises `UserError` for a text shorter than one block.
    """

    def __init__(self, ids: np.ndarray, *, tokens: int, block: int, seed: int) -> None:
        if len(ids) <= block:
            raise UserError(
                f"the text to train on has {len(ids):,} tokens, the ends of documents counted, and a block takes "
                f"{block + 1:,}; give more text, or a smaller batching.block"
            )
        self.ids, self.block, self.seed = np.asarray(ids), block, seed
        self.rows = max(1, tokens // block)

    def batches(self, position: Position) -> Generator[tuple[Batch, Position]]:
        """From `position` on, without end: each batch with the position after it."""
        while True:
            starts = self._starts(position.epoch)
            count = -(-len(starts) // self.rows)
            for number in range(position.batch, count):
                some = starts[number * self.rows : (number + 1) * self.rows]
                after = Position(position.epoch, 0, number + 1) if number + 1 < count else Position(position.epoch + 1)
                yield cut_blocks(self.ids, some, self._width(number)), after
            position = Position(position.epoch + 1)

    def batches_per_epoch(self) -> float:
        """How many batches an epoch has, but for one."""
        return max(1.0, (len(self.ids) - 1) / (self.block * self.rows))

    @abstractmethod
    def _starts(self, epoch: int) -> np.ndarray:
        """(blocks,) where each block of the epoch begins, batch after batch. They take 8 bytes each."""

    @abstractmethod
    def _width(self, number: int) -> int:
        """How many tokens the rows of a batch of the epoch predict."""


class ShuffledBlocks(BlockStream):
    """Blocks in a random order, cut at other places in each epoch. The first tokens of a block are read without what
    stood before them."""

    def _starts(self, epoch: int) -> np.ndarray:
        generator = np.random.default_rng([self.seed, epoch])
        predicted = len(self.ids) - 1
        offset = int(generator.integers(min(self.block, predicted - self.block + 1)))
        return offset + self.block * generator.permutation((predicted - offset) // self.block)

    def _width(self, number: int) -> int:
        return self.block


class ContinuousBlocks(BlockStream):
    """Each row reads a part of the text of its own, block after block; every epoch is the same.

    What a row carries from the batch before belongs to its text, but for the first batch of an epoch. The last one may
    have shorter rows.
    """

    def __init__(self, ids: np.ndarray, *, tokens: int, block: int, seed: int) -> None:
        super().__init__(ids, tokens=tokens, block=block, seed=seed)
        predicted = len(self.ids) - 1
        self.rows = min(self.rows, predicted // block)  # so that each row has a whole block
        self.row_length = predicted // self.rows

    def _starts(self, epoch: int) -> np.ndarray:
        blocks = np.arange(0, self.row_length, self.block)
        return (blocks[:, None] + self.row_length * np.arange(self.rows)).reshape(-1)

    def _width(self, number: int) -> int:
        return min(self.block, self.row_length - number * self.block)


def blocks_in_order(ids: np.ndarray, *, tokens: int, block: int) -> Iterator[Batch]:
    """A whole text from its beginning to its end, each token but the first predicted once: for validation.

    What does not fill a block is a batch of one shorter row.
    """
    ids, rows, predicted = np.asarray(ids), max(1, tokens // block), len(ids) - 1
    whole = np.arange(0, predicted - block + 1, block)
    for first in range(0, len(whole), rows):
        yield cut_blocks(ids, whole[first : first + rows], block)
    rest = predicted % block
    if rest:
        yield cut_blocks(ids, np.array([predicted - rest]), rest)


def cut_blocks(ids: np.ndarray, starts: np.ndarray, width: int) -> Batch:
    """The blocks that begin at `starts` (rows,) and predict `width` tokens each."""
    return make_blocks(ids[starts[:, None] + np.arange(width + 1)])
