"""Pieces by their ids, with padding after the last one."""

import random

from limelight.tokens.tokenizer import (
    END_PIECE,
    PADDING_PIECE,
    SPACE,
    UNKNOWN_PIECE,
    Pieces,
    group_words,
)

KNOWN = [END_PIECE, UNKNOWN_PIECE, "<2de>", f"{SPACE}ab", "c"]


def test_special_and_reserved_pieces_are_words_of_their_own() -> None:
    assert Pieces(KNOWN, ["<2de>"]).word_of([2, 4, 3, 4, 0]) == [0, 1, 2, 2, 3]
    assert Pieces(KNOWN, []).word_of([2, 4, 3, 4, 0]) == [0, 0, 1, 1, 2]


def test_words_of_ordinary_pieces_are_those_of_the_general_rule(seed: int) -> None:
    """They are counted by the marks of spaces alone; any other piece takes the general rule."""
    numbers = random.Random(seed)
    pieces = [
        *KNOWN,
        SPACE,
        f"{SPACE}d",
        "e",
        "<0xE2>",
        "<0x82>",
        "<0xAC>",
        f"{SPACE}犬",
        "犬",
        "<",
        f"a{SPACE}",
        "",
        ".",
    ]
    for reserved in (["<2de>"], []):
        known = Pieces(pieces, reserved)
        alone = [piece in {*reserved, END_PIECE, PADDING_PIECE} for piece in [*pieces, PADDING_PIECE]]
        for _ in range(2000):
            some = numbers.sample(range(known.size), numbers.randint(1, 6))  # few kinds, so that some rows are ordinary
            ids = numbers.choices(some, k=numbers.randint(0, 9))
            assert known.word_of(ids) == group_words(known.pieces(ids), [alone[each] for each in ids])
    assert known.word_of([3, 4, 3]) == [0, 0, 1]
