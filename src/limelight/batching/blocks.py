"""Plain text as rows of equal length, and masked lines."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
import torch

from limelight.batching.batch import Batch, begun, count_batches, make_blocks, pad_rows
from limelight.batching.drawing import Draw
from limelight.batching.ragged import Ragged
from limelight.batching.stream import Chunk, Position, Stream, cut_chunk
from limelight.errors import UserError
from limelight.tokens.text import ordinary_pieces
from limelight.tokens.tokenizer import END, LINE, MASK, UNKNOWN, Tokenizer


class BlockStream(Stream):
    """Batches cut from one text; a pure function of (text, seed, position).

    An epoch predicts every token once, except a few at the ends of the text. Blocks are in random order, with different
    boundaries in each epoch, and a block has no context from before it.

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
        self.predicted, self.rows = len(ids) - 1, max(1, tokens // block)

    def _make(self, position: Position, draw: Draw) -> Chunk:
        generator = np.random.default_rng([self.seed, position.epoch])
        offset = int(generator.integers(min(self.block, self.predicted - self.block + 1)))
        starts = offset + self.block * generator.permutation((self.predicted - offset) // self.block)
        ends = np.append(np.arange(0, len(starts), self.rows), len(starts))
        sizes = np.diff(ends) * self.block
        return Chunk(Ragged(starts, ends), sizes, sizes)

    def _batch(self, chunk: Chunk, position: Position) -> Batch:
        return _cut_blocks(self.ids, chunk.batches[position.batch], self.block)

    def batches_per_epoch(self) -> float:
        return max(1.0, self.predicted / (self.block * self.rows))


def blocks_in_order(ids: np.ndarray, *, tokens: int, block: int) -> Iterator[Batch]:
    """A whole text from start to end, each token except the first predicted once; for validation.

    A remainder shorter than a block is a batch of one shorter row.
    """
    ids, rows = np.asarray(ids), max(1, tokens // block)
    full, rest = divmod(len(ids) - 1, block)
    for first in range(0, full, rows):
        yield _cut_blocks(ids, block * np.arange(first, min(first + rows, full)), block)
    if rest:
        yield make_blocks(ids[None, block * full :])


def _cut_blocks(ids: np.ndarray, starts: np.ndarray, width: int) -> Batch:
    """The blocks that begin at `starts` (rows,) and predict `width` tokens each."""
    return make_blocks(ids[starts[:, None] + np.arange(width + 1)])


_MASKED, _REPLACED = 0.8, 0.1  # shares of the chosen tokens; the rest stay unchanged
_ENDS = 2  # end tokens of a row


class MaskedStream(Stream):
    """Batches of the lines of a text; a pure function of (text, settings, position).

    A row is an end token, the tokens of a line, an end token. A line with more than `max_length` tokens, including both
    ends, is split into several rows. Lines without any ordinary token are left out.

    A share of each row is chosen, rounded, at least one token. 80 % of the chosen tokens are replaced by the mask, 10 %
    by a random ordinary token, and 10 % stay unchanged.

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
        chunk_rows: int,
    ) -> None:
        if max_length <= _ENDS:
            raise UserError(f"batching.max_length={max_length} leaves no room between the two ends of a row; raise it")
        self.padding, self.mask, self.share = tokenizer.padding, tokenizer.reserved_id(MASK), share
        self.tokens, self.seed, self.chunk_rows = tokens, seed, chunk_rows
        breaks = np.zeros(tokenizer.size, dtype=bool)
        breaks[[END, tokenizer.reserved_id(LINE), *tokenizer.encode("\n")]] = True
        breaks[UNKNOWN] = False  # a line end missing from a vocabulary of characters
        self.ordinary = np.zeros(tokenizer.size, dtype=bool)
        """(size,) whether an id may be chosen, or drawn as a replacement."""
        self.ordinary[ordinary_pieces(tokenizer)] = True
        self.ordinary &= ~breaks
        self.lines = _lines(np.asarray(ids), breaks, longest=max_length - _ENDS)
        counts = np.add.reduceat(self.ordinary[self.lines.values], self.lines.offsets[:-1], dtype=np.int64)
        self.rows = np.flatnonzero(counts)
        self.lengths, self.chosen = self.lines.lengths()[self.rows] + _ENDS, self._wanted(counts[self.rows])
        if not len(self):
            raise UserError("no line of the text has a token that could be predicted")
        self.chunks = -(-len(self) // chunk_rows)
        self._order_of = lru_cache(maxsize=1)(lambda epoch: np.random.default_rng([seed, epoch]).permutation(len(self)))
        """The rows of an epoch in their order, made once for all its chunks."""

    def __len__(self) -> int:
        """Number of rows per epoch."""
        return len(self.rows)

    def batches_per_epoch(self) -> float:
        return count_batches(self.lengths, self.lengths, tokens=self.tokens)

    def _make(self, position: Position, draw: Draw) -> Chunk:
        rows = self._order_of(position.epoch)[position.chunk * self.chunk_rows :][: self.chunk_rows]
        lengths, generator = self.lengths[rows], np.random.default_rng([self.seed, position.epoch, position.chunk + 1])
        return cut_chunk([lengths, lengths], self.chosen[rows], rows, tokens=self.tokens, generator=generator)

    def _batch(self, chunk: Chunk, position: Position) -> Batch:
        lines = self.lines.take(self.rows[chunk.items[chunk.batches[position.batch]]])
        ids, _ = pad_rows(lines.prefixed(begun([])), self.padding, end=END)
        generator = np.random.default_rng([self.seed, position.epoch, position.chunk + 1, position.batch + 1])
        return self.hide(ids.numpy(), generator)

    def hide(self, ids: np.ndarray, generator: np.random.Generator) -> Batch:
        """Choose and mask tokens. The source is the masked row; the target has the same positions.

        Args:
            ids: (batch, length), padded. Nothing is chosen in a row without ordinary tokens.
        """
        may = self.ordinary[ids]
        noise = np.where(may, generator.random(ids.shape), np.inf)
        chosen = noise.argsort(axis=1).argsort(axis=1) < self._wanted(may.sum(axis=1))[:, None]
        targets = ids[chosen]
        fate = generator.random(len(targets))
        drawn = generator.choice(np.flatnonzero(self.ordinary), len(targets))
        hidden = ids.copy()
        hidden[chosen] = np.where(fate < _MASKED, self.mask, np.where(fate < _MASKED + _REPLACED, drawn, targets))
        return Batch.of(*map(torch.from_numpy, (hidden, ids != self.padding, ids[:, :0], ids, chosen)))

    def _wanted(self, counts: np.ndarray) -> np.ndarray:
        """(rows,) number of chosen tokens of rows with `counts` ordinary tokens."""
        return np.minimum(counts, np.maximum(1, np.rint(self.share * counts))).astype(np.int64)


def _lines(ids: np.ndarray, breaks: np.ndarray, *, longest: int) -> Ragged:
    """The lines of a text, in parts of at most `longest` tokens; `breaks` (size,) is True for ids that end a line."""
    ends = np.flatnonzero(breaks[ids])
    lengths = np.diff(ends, prepend=-1, append=len(ids)) - 1
    parts = -(-lengths // longest)
    sizes = np.full(parts.sum(), longest)
    last = np.cumsum(parts)[lengths > 0] - 1
    sizes[last] = (lengths - longest * (parts - 1))[lengths > 0]
    return Ragged.of_lengths(ids[~breaks[ids]], sizes)
