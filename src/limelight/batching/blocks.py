"""Plain text as rows of equal length, and masked lines."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from limelight.batching.batch import Batch, count_batches, make_blocks
from limelight.batching.drawing import Draw
from limelight.batching.ragged import Ragged
from limelight.batching.stream import Chunk, Position, Stream, cut_chunk
from limelight.errors import UserError
from limelight.tokens.text import ordinary_pieces, reserved_id
from limelight.tokens.tokenizer import END, LINE, MASK, UNKNOWN, Tokenizer


class BlockStream(Stream):
    """Batches cut from one text; a pure function of (text, seed, position).

    An epoch predicts every token once, except a few at the ends of the text.

    Args:
        ids: (tokens,) the text, as in `TextStore`.
        tokens: budget of a batch, which has `tokens / block` rows, at least one.
        block: number of tokens that a row predicts.
        seed: seed of the order.

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

    def _make(self, place: Position, draw: Draw | None = None) -> Chunk:
        starts = self._starts(place.epoch)
        ends = np.minimum(np.arange(0, len(starts) + self.rows, self.rows), len(starts))
        sizes = np.diff(ends) * self._widths(len(ends) - 1)
        return Chunk(Ragged(starts, ends), sizes, sizes)

    def _batch(self, chunk: Chunk, place: Position) -> Batch:
        starts = chunk.batches[place.batch]
        return cut_blocks(self.ids, starts, int(chunk.positions[place.batch]) // len(starts))

    def batches_per_epoch(self) -> float:
        return max(1.0, (len(self.ids) - 1) / (self.block * self.rows))

    @abstractmethod
    def _starts(self, epoch: int) -> np.ndarray:
        """(blocks,) start of each block of the epoch, batch after batch; 8 bytes each."""

    def _widths(self, batches: int) -> np.ndarray:
        """(batches,) number of tokens that the rows of each batch of an epoch predict."""
        return np.full(batches, self.block)


class ShuffledBlocks(BlockStream):
    """Blocks in random order, with different boundaries in each epoch. A block has no context from before it."""

    def _starts(self, epoch: int) -> np.ndarray:
        generator = np.random.default_rng([self.seed, epoch])
        predicted = len(self.ids) - 1
        offset = int(generator.integers(min(self.block, predicted - self.block + 1)))
        return offset + self.block * generator.permutation((predicted - offset) // self.block)


class ContinuousBlocks(BlockStream):
    """Each row reads its own part of the text, block after block; all epochs are equal.

    The state carried from the previous batch belongs to the same text, except in the first batch of an epoch. The last
    batch may have shorter rows.
    """

    def __init__(self, ids: np.ndarray, *, tokens: int, block: int, seed: int) -> None:
        super().__init__(ids, tokens=tokens, block=block, seed=seed)
        predicted = len(self.ids) - 1
        self.rows = min(self.rows, predicted // block)  # each row needs at least one block
        self.row_length = predicted // self.rows

    def _starts(self, epoch: int) -> np.ndarray:
        blocks = np.arange(0, self.row_length, self.block)
        return (blocks[:, None] + self.row_length * np.arange(self.rows)).reshape(-1)

    def _widths(self, batches: int) -> np.ndarray:
        return np.minimum(self.block, self.row_length - self.block * np.arange(batches))


def blocks_in_order(ids: np.ndarray, *, tokens: int, block: int) -> Iterator[Batch]:
    """A whole text from start to end, each token except the first predicted once; for validation.

    A remainder shorter than a block is a batch of one shorter row.
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


_MASKED, _REPLACED = 0.8, 0.1  # shares of the chosen tokens; the rest stay unchanged
_ENDS = 2  # end tokens of a row


@dataclass(frozen=True, slots=True)
class Masking:
    """How tokens are chosen and masked.

    A share of each row is chosen, rounded, at least one token. 80 % of the chosen tokens are replaced by the mask, 10 %
    by a random ordinary token, and 10 % stay unchanged.
    """

    share: float
    mask: int
    ordinary: np.ndarray
    """(size,) whether an id may be chosen, or drawn as a replacement."""

    def chosen_of(self, counts: np.ndarray) -> np.ndarray:
        """(rows,) number of chosen tokens of rows with so many ordinary tokens."""
        return np.minimum(counts, np.maximum(1, np.rint(self.share * counts))).astype(np.int64)

    def hide(self, ids: np.ndarray, generator: np.random.Generator) -> Batch:
        """Choose and mask tokens. The source is the masked row; the target has the same positions.

        Args:
            ids: (batch, length), padded. Nothing is chosen in a row without ordinary tokens.
        """
        may = self.ordinary[ids]
        wanted = self.chosen_of(may.sum(axis=1))
        noise = np.where(may, generator.random(ids.shape), np.inf)
        chosen = noise.argsort(axis=1).argsort(axis=1) < wanted[:, None]
        targets = ids[chosen]
        fate = generator.random(len(targets))
        drawn = generator.choice(np.flatnonzero(self.ordinary), len(targets))
        hidden = ids.copy()
        hidden[chosen] = np.where(fate < _MASKED, self.mask, np.where(fate < _MASKED + _REPLACED, drawn, targets))
        valid = ids != len(self.ordinary) - 1
        return Batch.of(*map(torch.from_numpy, (hidden, valid, ids[:, :0], ids, chosen)))


class MaskedStream(Stream):
    """Batches of the lines of a text; a pure function of (text, settings, position).

    A row is an end token, the tokens of a line, an end token. A line with more than `max_length` tokens, including both
    ends, is split into several rows. Lines without any ordinary token are left out.

    Args:
        ids: (tokens,) the text, as in `TextStore`.
        tokens: budget of a batch, as rows times the longest row.
        share: share of the tokens that are predicted.
        seed: seed of order and masks.
        chunk_rows: rows that are shuffled and sorted together.

    Raises `UserError` if no line is left, if `max_length` is too small, and for the vocabulary of a translator.
    """

    def __init__(
        self,
        ids: np.ndarray,
        tokenizer: Tokenizer,
        *,
        tokens: int,
        max_length: int,
        share: float,
        seed: int,
        chunk_rows: int = 100_000,
    ) -> None:
        if max_length <= _ENDS:
            raise UserError(f"batching.max_length={max_length} leaves no room between the two ends of a row; raise it")
        self.ids, self.padding = np.asarray(ids), tokenizer.padding
        self.tokens, self.seed, self.chunk_rows = tokens, seed, chunk_rows
        breaks = np.zeros(tokenizer.size, dtype=bool)
        breaks[[END, reserved_id(tokenizer, LINE), *tokenizer.encode("\n")]] = True
        breaks[UNKNOWN] = False  # a line end missing from a vocabulary of characters
        ordinary = np.zeros(tokenizer.size, dtype=bool)
        ordinary[ordinary_pieces(tokenizer)] = True
        self.masking = Masking(share, reserved_id(tokenizer, MASK), ordinary & ~breaks)
        begins, lengths = _lines(self.ids, breaks, longest=max_length - _ENDS)
        # Sums from one row to the next: only breaks lie between, which are not ordinary.
        counts = np.add.reduceat(self.masking.ordinary[self.ids], begins, dtype=np.int64) if len(begins) else begins
        full = counts > 0
        self.begins, self.lengths, self.chosen = begins[full], lengths[full], self.masking.chosen_of(counts[full])
        if not len(self.begins):
            raise UserError("no line of the text has a token that could be predicted")
        self.chunks = -(-len(self) // chunk_rows)

    def __len__(self) -> int:
        """Number of rows per epoch."""
        return len(self.begins)

    def _make(self, place: Position, draw: Draw | None = None) -> Chunk:
        order = np.random.default_rng([self.seed, place.epoch]).permutation(len(self))
        rows = order[place.chunk * self.chunk_rows :][: self.chunk_rows]
        lengths, generator = self.lengths[rows] + _ENDS, np.random.default_rng(self._seeds(place))
        return cut_chunk([lengths, lengths], self.chosen[rows], rows, tokens=self.tokens, generator=generator)

    def _seeds(self, place: Position) -> list[int]:
        return [self.seed, place.epoch, place.chunk + 1]

    def _batch(self, chunk: Chunk, place: Position) -> Batch:
        rows = chunk.items[chunk.batches[place.batch]]
        return self.masking.hide(self._rows(rows), np.random.default_rng([*self._seeds(place), place.batch + 1]))

    def batches_per_epoch(self) -> float:
        lengths = self.lengths + _ENDS
        return count_batches(lengths, lengths, tokens=self.tokens)

    def _rows(self, rows: np.ndarray) -> np.ndarray:
        """(batch, length) ids of these rows with both end tokens, padded."""
        lengths = self.lengths[rows, None]
        places = np.arange(int(lengths.max()) + _ENDS)
        inside = np.clip(self.begins[rows, None] + places - 1, 0, len(self.ids) - 1)
        ids = np.where((places > 0) & (places <= lengths), self.ids[inside].astype(np.int64), self.padding)
        ids[:, 0] = END
        np.put_along_axis(ids, lengths + 1, END, axis=1)
        return ids


def _lines(ids: np.ndarray, breaks: np.ndarray, *, longest: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows,) start of each row, and its number of tokens; `breaks` (size,) is True for ids that end a line."""
    ends = np.flatnonzero(breaks[ids])
    begins = np.concatenate([[0], ends + 1])
    lengths = np.concatenate([ends, [len(ids)]]) - begins
    parts = -(-lengths // longest)
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)  # index of the part in its line
    row_lengths = np.minimum(longest, np.repeat(lengths, parts) - longest * number)
    return np.repeat(begins, parts) + longest * number, row_lengths
