"""Signs: what the vocabulary lacks is carried; symbols are compared in every script alike."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text.kept_signs import SIGNS, changes_signs, find_signs, find_unknown
from limelight.text.protectors import find_spans

HELD = {*SIGNS, *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ "}


def carried(text: str, languages: tuple[str, str] = ("en", "de")) -> list[str]:
    unknown = partial(find_unknown, in_vocabulary=HELD.__contains__, languages=languages)
    return [text[each.begin : each.end] for each in find_spans(text, [find_signs, unknown])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We saw 京都 and Москва, 🎉🎉 and ❤️.", ["京都", "Москва", "🎉🎉", "❤️"]),
        ("salt & pepper -> A | B", ["&", "->", "|"]),
        ("* item", []),
        ("wait ... — now: (really)?", []),
        ("Kőszegi and Müller of Çeşme", ["Kőszegi", "Çeşme"]),
        ("二，三。", ["二", "三"]),
        ("R&D, a-b, it's", []),
        ("👩‍👩‍👧 x̂", ["👩‍👩‍👧 x̂"]),
    ],
)
def test_what_is_carried(text: str, expected: list[str]) -> None:
    assert carried(text) == expected


@pytest.mark.parametrize(
    ("text", "language"), [("Es dzīvoju Rīgā", "lv"), ("Mən evə", "az"), ("dŵr", "cy"), ("İyi İstanbul", "tr")]
)
def test_letters_of_a_language_are_not_carried(text: str, language: str) -> None:
    assert list(find_unknown(text, str.isprintable, (language, "en"))) == []


@pytest.mark.parametrize("word", ["बहुत", "দিন", "எச்சரிக்கை", "ගොනුව", "วันนี้", "天気", "жил", "كِتَاب"])
def test_a_sign_is_carried_without_the_word_behind_it(word: str) -> None:
    for sign in ("👍", "⚠️", "👩‍👩‍👧"):
        (found,) = find_unknown(f"{sign}{word}", {*word}.__contains__, ("xx", "yy"))
        assert found.end == len(sign)


LETTERS = "天気今日猫ねこ이다क्याहाँهلنعمฉัน"
PUNCTUATION = "。、，！？；：「」『』（）【】《》〈〉…—।؟،؛ \u3000"


@given(st.text(LETTERS + PUNCTUATION, max_size=30))
def test_punctuation_of_other_scripts_is_left_to_the_model(text: str) -> None:
    """Also where a vocabulary lacks it: models whose languages have other scripts got stray signs."""
    held = {*LETTERS}
    assert list(find_unknown(text, held.__contains__, ("zh", "en"))) == []
    assert not changes_signs(text, "a translation, with its own signs.")


def test_a_joiner_that_a_vocabulary_lacks_is_no_reason_to_carry_a_word() -> None:
    for word in ("می\u200cروم", "ශ්\u200dරී", "गर्\u200dयो", "ᠬᠠᠶᠢᠷ\u180eᠠ"):
        held = {*word} - {"\u200c", "\u200d", "\u180e"}
        assert list(find_unknown(word, held.__contains__, ("xx", "yy"))) == []


@pytest.mark.parametrize(
    ("source", "output", "changed"),
    [
        ("a → b", "a b", True),
        ("a b", "a {b}", True),
        ("$5 < 6", "5 Dollar sind weniger als 6", False),
        ("Es regnet, und „sie“ kommt – ja!", 'It rains, and "she" comes, yes!', False),
        ("如果明天下雨，我们就不去。", "If it rains tomorrow, we will not go.", False),
        ("© ＋ x", "© + x", False),
        ("好的～", "Okay", False),
    ],
)
def test_symbols_are_compared(source: str, output: str, changed: bool) -> None:
    assert changes_signs(source, output) == changed
