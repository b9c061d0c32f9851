"""Signs: what the vocabulary lacks and what stands alone is carried; symbols are compared in every script alike."""

import pytest

from limelight.text.kept_signs import SIGNS, changed_signs, find_unheld
from limelight.text.protectors import find_spans, signs

HELD = {*SIGNS, *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ "}


def carried(text: str, languages: tuple[str, str] = ("en", "de")) -> list[str]:
    return [text[each.begin : each.end] for each in find_spans(text, [signs(HELD.__contains__, languages)])]


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


def test_punctuation_of_other_scripts_is_left_to_the_model() -> None:
    for text in ("如果明天下雨，我们就不去。", "क्या यह सही है? हाँ।", "هل هذا صحيح؟ نعم، هو."):
        letters = {*filter(str.isalpha, text)}
        marks = {each for each in text if not each.isalpha()}
        held = {*letters, *(each for each in marks if each not in "，。।؟،"), "्", "ँ", "ि", "ा", "ी", "ै"}
        assert not find_unheld(text, held.__contains__, ("zh", "en"))


@pytest.mark.parametrize(
    ("source", "output", "changed"),
    [
        ("a → b", "a b", ("→",)),
        ("a b", "a {b}", ("{", "}")),
        ("$5 < 6", "5 Dollar sind weniger als 6", ()),
        ("Es regnet, und „sie“ kommt – ja!", 'It rains, and "she" comes, yes!', ()),
        ("如果明天下雨，我们就不去。", "If it rains tomorrow, we will not go.", ()),
        ("© ＋ x", "© + x", ()),
    ],
)
def test_symbols_are_compared(source: str, output: str, changed: tuple[str, ...]) -> None:
    assert changed_signs(source, output) == changed
