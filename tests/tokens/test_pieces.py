"""Pieces by their ids, with padding after the last one."""

from limelight.tokens.tokenizer import (
    END_PIECE,
    SPACE,
    UNKNOWN_PIECE,
    Pieces,
)

KNOWN = [END_PIECE, UNKNOWN_PIECE, "<2de>", f"{SPACE}ab", "c"]


def test_special_and_reserved_pieces_are_words_of_their_own() -> None:
    assert Pieces(KNOWN, ["<2de>"]).word_of([2, 4, 3, 4, 0]) == [0, 1, 2, 2, 3]
    assert Pieces(KNOWN, []).word_of([2, 4, 3, 4, 0]) == [0, 0, 1, 1, 2]
