"""Pieces by their ids, with padding after the last one."""

import random

import pytest

from limelight.errors import UserError
from limelight.tokens import tokenizer
from limelight.tokens.tokenizer import (
    END_PIECE,
    MAX_PIECES,
    PADDING_PIECE,
    SPACE,
    UNKNOWN_PIECE,
    Pieces,
    group_words,
    require_count,
)

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


def test_ordinary_pieces_are_not_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The general rule looks at the letters of each piece."""
    monkeypatch.setattr(tokenizer, "group_words", None)
    assert Pieces(KNOWN, []).word_of([4, 3, 4, 4, 3]) == [0, 1, 1, 1, 2]
