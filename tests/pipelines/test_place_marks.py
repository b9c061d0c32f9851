"""Lost placeholders go where attention says."""

import numpy as np
import pytest

from limelight.pipelines import repair_marks
from limelight.pipelines.repair_marks import Attended, place_marks
from limelight.text.marking import placeholder
from limelight.text.spans import Span
from tests.marks import show_marks

SOFT = 0.1


def attended(source: str, target: str, links: dict[int, int]) -> Attended:
    """Texts of words and of placeholders `0` to `9`; most of the attention of a target word goes to one source word."""
    words = source.split()
    marks = {int(word): place for place, word in enumerate(words) if word.isdigit()}  # a token that is there, too
    targets = target.split()
    weights = np.full((len(targets), len(words)), SOFT / len(words), dtype=np.float32)
    for row, column in links.items():
        weights[row, column] += 1 - SOFT
    text = " ".join(placeholder(int(word)) if word.isdigit() else word for word in targets)
    parts = tuple(" " * bool(row) + word for row, word in enumerate(text.split(" ")))
    return Attended(parts, tuple(range(len(parts) + 1)), weights, marks)


def pair(first: int, second: int) -> dict[int, Span]:
    return {first: Span("<b>", "open", second, " ", "x"), second: Span("</b>", "close", first, "x", " ")}


def placed(given: Attended, spans: dict[int, Span], wanted: list[int]) -> str:
    return show_marks(place_marks(given, [spans[number] for number in sorted(spans)], wanted))


def test_a_pair_goes_around_the_words_that_attend_to_its_inside() -> None:
    given = attended("i saw 0 him 1", "ich habe ihn gesehen", {0: 0, 1: 1, 2: 3, 3: 1})
    assert placed(given, pair(0, 1), [0, 1]) == "ich habe <ph0>ihn<ph1> gesehen"
    given = attended("i 0 saw it 1 yesterday", "gestern sah ich es", {0: 5, 1: 2, 2: 0, 3: 3})
    assert placed(given, pair(0, 1), [0, 1]) == "gestern <ph0>sah ich es<ph1>"


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [
        ("x", " ", "der Hund<ph0> rennt"),
        (" ", "x", "der Hund <ph0>rennt"),
        (" ", " ", "der Hund <ph0> rennt"),
    ],
)
def test_what_stands_alone_divides_what_is_before_from_what_is_behind(left: str, right: str, text: str) -> None:
    given = attended("the dog 0 runs", "der Hund rennt", {0: 0, 1: 1, 2: 3})
    assert placed(given, {0: Span("{x}", "alone", -1, left, right)}, [0]) == text


def test_the_other_tag_of_a_pair_stays_and_the_lost_one_comes_before_it() -> None:
    given = attended("0 it 1 rains", "es 1 regnet", {0: 1, 1: 2, 2: 3})
    assert placed(given, pair(0, 1), [0]) == "<ph0>es <ph1> regnet"
    # attention says behind it, where an opening tag cannot be
    given = attended("0 it 1 rains", "regnet 1 es", {0: 3, 1: 2, 2: 1})
    assert placed(given, pair(0, 1), [0]) == "<ph0>regnet <ph1> es"


def test_pairs_do_not_cross() -> None:
    spans = {**pair(0, 3), **pair(1, 2)}
    given = attended("0 a 1 b 2 3 c", "B C A", {0: 3, 1: 6, 2: 1})
    found = placed(given, spans, [0, 1, 2, 3])
    assert found.index("<ph0>") < found.index("<ph1>") < found.index("<ph2>") < found.index("<ph3>")
    assert "<ph1>B<ph2>" in found


def test_few_orders_are_checked_in_a_long_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    size, checked = 60, list[object]()
    spans = {**pair(0, 7), **pair(1, 2), **pair(3, 4), **pair(5, 6)}  # the outer pair has one word, for three pairs
    weights = np.eye(size, dtype=np.float32)
    given = Attended(tuple(f" w{row}" for row in range(size)), tuple(range(size + 1)), weights, dict.fromkeys(spans, 9))
    weights[:, 9] = np.arange(size) == 5
    given.marks.update({0: 9, 7: 10})
    original = repair_marks.find_misplaced
    monkeypatch.setattr(
        repair_marks, "find_misplaced", lambda order, spans: checked.append(order) or original(order, spans)
    )
    text = placed(given, spans, [*range(8)])
    assert "<ph0>" in text
    assert len(checked) < 100
