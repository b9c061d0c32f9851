"""Messages of ICU: where their branches are, and what an apostrophe does there."""

from random import Random

import pytest

from limelight.text.icu import Apostrophes, branches
from limelight.text.marking import placeholder


def texts(message: str) -> list[str]:
    return [message[begin:end] for begin, end in branches(message)]


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("{n, plural, one {# file} other {# files}}", ["# file", "# files"]),
        ("{n,plural,offset:1 =0{none}other{}}", ["none", ""]),
        ("{ who , select , female {she} other {they} }", ["she", "they"]),
        ("{n, selectordinal, two {#nd} other {#th}}", ["#nd", "#th"]),
        ("{n, plural, other {a {x} {m, select, other {b}} c}}", ["a {x} {m, select, other {b}} c"]),
        ("{n, plural, other {a '{' b}}", ["a '{' b"]),
        ("{n, plural, other {it's}}", ["it's"]),
        ("{d, date, short}", []),
        ("{n, choice, 0#none|1#one}", []),
        ("{n, plural, one {a} other {b}", []),
        ("{n, plural, one {a} ?}", []),
        ("{n, plural, one {a}} more", []),
        ("no message", []),
    ],
)
def test_branches(message: str, found: list[str]) -> None:
    assert texts(message) == found


@pytest.mark.parametrize(
    ("message", "text", "written"),
    [
        ("{n, plural, other {a}}", "l'ami", "l'ami"),
        ("{n, plural, other {a}}", f"l'{placeholder(0)}", f"l''{placeholder(0)}"),
        ("{n, plural, other {a}}", "l'{x l'#", "l''{x l''#"),
        ("{n, plural, other {it''s}}", "l'ami", "l''ami"),
    ],
)
def test_no_apostrophe_begins_a_quotation(message: str, text: str, written: str) -> None:
    assert Apostrophes(message).write(text) == written


def test_two_apostrophes_are_one() -> None:
    assert Apostrophes("").read("it''s '{'") == "it's '{'"


@pytest.mark.parametrize("seed", range(20))
def test_any_text_is_read(seed: int) -> None:
    random = Random(seed)
    text = "".join(random.choices(["{n, plural, ", "other {", "}", "'", "{", " a", "#"], k=60))
    for begin, end in branches(text):
        assert 0 < begin <= end < len(text)
