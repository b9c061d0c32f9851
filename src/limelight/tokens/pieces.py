"""The pieces of a vocabulary by their ids: what every tokenizer here knows, however it splits text."""

from __future__ import annotations

from collections.abc import Sequence

from limelight.errors import UserError
from limelight.tokens.tokenizer import END_PIECE, MAX_PIECES, PADDING_PIECE, group_words, require_ids
from limelight.untrusted import shown


class Pieces:
    """Pieces with the ids 0, 1, ..., and padding after the last of them."""

    def __init__(self, pieces: Sequence[str], reserved: Sequence[str]) -> None:
        """Take the pieces without padding, and those of them that are never split.

        Raises:
            UserError: a reserved piece is not among them.
        """
        missing = sorted(set(reserved) - set(pieces))
        if missing:
            raise UserError(f"the model has no reserved piece {shown(', '.join(missing))}")
        self._pieces = [*pieces, PADDING_PIECE]
        self._reserved = tuple(reserved)
        alone = {*reserved, END_PIECE, PADDING_PIECE}
        self._alone = [piece in alone for piece in self._pieces]

    def reserved_id(self, piece: str) -> int:
        """The id of a reserved piece. Raises `UserError` where this vocabulary has none."""
        if piece not in self._reserved:
            raise UserError(f"this vocabulary has no reserved token {shown(piece)}")
        return self._pieces.index(piece)

    @property
    def size(self) -> int:
        """How many ids there are, padding included."""
        return len(self._pieces)

    @property
    def padding(self) -> int:
        """The id after the last piece."""
        return len(self._pieces) - 1

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """A readable piece for each id; bytes read as `<0xE2>`."""
        require_ids(ids, self.size)
        return [self._pieces[number] for number in ids]

    def word_of(self, ids: Sequence[int]) -> list[int]:
        """For each id the number of the word it belongs to; see `group_words`."""
        return group_words(self.pieces(ids), [self._alone[number] for number in ids])


def require_count(count: int) -> None:
    """Raises `UserError` for fewer pieces than the special ones, and for more than any vocabulary has."""
    if not 2 <= count <= MAX_PIECES:
        raise UserError(f"{count:,} pieces; a vocabulary has between 2 and {MAX_PIECES:,}")
