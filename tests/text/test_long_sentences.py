"""Text without the end of a sentence is divided: at punctuation, at spaces, or between characters."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text.sentences import COUNTED, Sentences, divided, split_sentences, with_short


def at_most(count: int) -> Callable[[str], bool]:
    return lambda text: len(text) <= count


def parts(text: str, count: int) -> list[str]:
    return [text[begin:end] for begin, end in divided(text, at_most(count))]


@given(st.text("ab ,.\t\U0001f600\u0301\u200d犬。", max_size=200), st.integers(1, 30))
def test_parts_fit_and_join_to_the_same_text(text: str, count: int) -> None:
    sentences = split_sentences(text)
    found = with_short(sentences, at_most(count))
    assert found.join(found.texts) == text
    assert all(len(each) <= count for each in found.texts)
    assert all(each.strip() for each in found.texts)


@given(st.text("ab ,.\U0001f600", min_size=1, max_size=60))
def test_what_fits_stays_as_it_is(text: str) -> None:
    whole = Sentences((text,), ("", ""))
    assert with_short(whole, at_most(60)) == whole


@pytest.mark.parametrize(
    ("text", "count", "expected"),
    [
        ("the lamp hums, and the dog runs", 20, ["the lamp hums,", "and the dog runs"]),
        ("the lamp hums and the dog runs", 20, ["the lamp hums", "and the dog runs"]),
        ("a, the lamp hums and a dog", 20, ["a, the lamp", "hums and a dog"]),  # near the middle
        ("aaaaaaaaaa", 5, ["aaaaa", "aaaaa"]),
        ("a dog bbbbbbbbbbbbbbbbbbbb", 20, ["a dog", "bbbbbbbbbbbbbbbbbbbb"]),
        ("犬が走る、猫が眠る", 5, ["犬が走る、", "猫が眠る"]),
        ("犬猫犬猫", 2, ["犬猫", "犬猫"]),
        ("aae\u0301e\u0301aa", 5, ["aae\u0301", "e\u0301aa"]),
        ("a" * 3 + "\U0001f468\u200d\U0001f469" + "a" * 3, 6, ["aaa\U0001f468\u200d\U0001f469", "aaa"]),
    ],
)
def test_where_a_text_is_divided(text: str, count: int, expected: list[str]) -> None:
    assert parts(text, count) == expected


@pytest.mark.parametrize("unit", ["a", "a ", "\U0001f600", "犬、", " ,", "\u0301"])
def test_the_work_grows_with_the_length(unit: str) -> None:
    """Tokens are counted for short parts only, each character at most a few times."""
    text, seen = unit * (200_000 // len(unit)), list[int]()

    def fits(part: str) -> bool:
        seen.append(len(part))
        return len(part) <= 500

    assert sum(end - begin for begin, end in divided(text, fits)) <= len(text)
    assert max(seen) <= COUNTED
    assert sum(seen) <= 8 * len(text)
