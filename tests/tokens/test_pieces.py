"""Pieces by their ids, with padding after the last one."""

import pytest

from limelight.errors import UserError
from limelight.tokens.tokenizer import END_PIECE, MAX_PIECES, PADDING_PIECE, SPACE, UNKNOWN_PIECE, Pieces, require_count

KNOWN = [END_PIECE, UNKNOWN_PIECE, "<2de>", f"{SPACE}ab", "c"]


def test_padding_is_the_id_after_the_last_piece() -> None:
    known = Pieces(KNOWN, ["<2de>"])
    assert (known.size, known.padding) == (6, 5)
    assert known.pieces(range(6)) == [*KNOWN, PADDING_PIECE]


def test_special_and_reserved_pieces_are_words_of_their_own() -> None:
    assert Pieces(KNOWN, ["<2de>"]).word_of([2, 4, 3, 4, 0]) == [0, 1, 2, 2, 3]
    assert Pieces(KNOWN, []).word_of([2, 4, 3, 4, 0]) == [0, 0, 1, 1, 2]


def test_reserved_pieces_that_are_missing_are_named() -> None:
    with pytest.raises(UserError, match="the model has no reserved piece <2fr>, <ph3>"):
        Pieces(KNOWN, ["<ph3>", "<2de>", "<2fr>"])


@pytest.mark.parametrize("number", [-1, 6])
def test_ids_of_another_vocabulary_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"id {number} is not in this vocabulary of 6 ids"):
        Pieces(KNOWN, []).pieces([number])


def test_how_many_there_may_be() -> None:
    for count in (2, MAX_PIECES):
        require_count(count)
    for count in (1, MAX_PIECES + 1):
        with pytest.raises(UserError, match=f"{count:,} pieces; a vocabulary has between 2 and 500,000"):
            require_count(count)
