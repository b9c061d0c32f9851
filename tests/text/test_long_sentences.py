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
