"""Inline codes: what both sides have is the same placeholder, and nothing else is left of them."""

import random

import pytest

from limelight.formats.segments import marked_sides, plain_text
from limelight.formats.unit import Code, Parts
from limelight.text.marking import MARK, placeholder, without_marks
from tests.marks import show_marks

BOLD, END = Code("", "open", "g 1"), Code("", "close", "g 1")
BREAK = Code("", name="x 2")


def shown(source: Parts, target: Parts) -> tuple[str, str]:
    left, right, marked = marked_sides(source, target)
    assert marked == bool(MARK.search(left + right))
    return show_marks(left), show_marks(right)


def test_the_same_code_has_the_same_number_in_the_order_of_the_source() -> None:
    assert shown(["Press ", BOLD, "Start", END, BREAK], [BREAK, "Drücke ", BOLD, "Start", END]) == (
        "Press <ph0>Start<ph1><ph2>",
        "<ph2>Drücke <ph0>Start<ph1>",
    )


@pytest.mark.parametrize("lost", [BOLD, END])
def test_half_a_pair_of_tags_takes_the_other_half_along(lost: Code) -> None:
    target = [part for part in (BOLD, "y", END) if part != lost]
    assert shown([BOLD, "x", END, BREAK], [*target, BREAK]) == ("x<ph0>", "y<ph0>")


def test_a_dropped_code_between_words_leaves_a_space_but_a_tag_does_not() -> None:
    assert plain_text(["one", BREAK, "two"]) == "one two"
    assert plain_text(["un", BOLD, "believ", END, "able"]) == "unbelievable"
    assert plain_text(["one", BREAK, BREAK, "."]) == "one."


def test_line_ends_become_spaces_and_others_stay() -> None:
    assert plain_text(["\n  one,\n\ttwo  three\u00a0", BREAK, "\u00a0four \n"]) == "one, two  three\u00a0\u00a0four"


def test_characters_of_the_text_are_not_taken_for_marks() -> None:
    own = placeholder(3)
    assert marked_sides([f"a{own}", BREAK], ["b", BREAK]) == (f"a{own}", "b", False)
    assert marked_sides(["a", BREAK], ["b", BREAK, own]) == ("a", f"b{own}", False)


@pytest.mark.parametrize("seed", range(30))
def test_marks_are_a_numbering_of_what_is_shared_and_text_survives(seed: int) -> None:
    draw = random.Random(seed)
    print(f"seed {seed}")

    def side() -> list[str | Code]:
        codes = [Code("", draw.choice(("alone", "open", "close")), f"x {draw.randrange(4)}") for _ in range(6)]
        return [part for code in codes for part in (draw.choice(("a ", " b", "c")), code)]

    source, target = side(), side()
    left, right, marked = marked_sides(source, target)
    numbers = MARK.findall(left)
    assert numbers == [placeholder(number) for number in range(len(numbers))]
    assert sorted(MARK.findall(right)) == numbers
    assert marked == bool(numbers)
    for text, parts in ((left, source), (right, target)):
        letters = "".join(part for part in parts if isinstance(part, str)).replace(" ", "")
        assert without_marks(text).replace(" ", "") == letters
