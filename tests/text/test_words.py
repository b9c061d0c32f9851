"""Words and where they are, in scripts with spaces and without."""

import re
import unicodedata

import pytest

from limelight.text.words import COMBINING, EXTENDING, LETTER, word_spans, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The cat, (the) dog!", ["The", "cat", "the", "dog"]),
        ("Don't, Tom's e-mail", ["Don't", "Tom's", "e-mail"]),
        ("l'homme qu’elle", ["l", "homme", "qu", "elle"]),
        ("at 14:30 for 1,000.50 in 2020.", ["at", "14:30", "for", "1,000.50", "in", "2020"]),
        ("snake_case", ["snake", "case"]),
        ("我喜歡貓。", ["我", "喜", "歡", "貓"]),
        ("東京タワー abc", ["東", "京", "タ", "ワ", "ー", "abc"]),
        ("हिन्दी में।", ["हिन्दी", "में"]),
        ("ދިވެހި ꯃꯩꯇꯩ ߞߊ߲ ܫܠܵܡܵܐ", ["ދިވެހި", "ꯃꯩꯇꯩ", "ߞߊ߲", "ܫܠܵܡܵܐ"]),
        ("กินข้าว", ["กิ", "น", "ข้", "า", "ว"]),
        ("ශ්\u200dරී ලංකා गर्\u200dयो", ["ශ්\u200dරී", "ලංකා", "गर्\u200dयो"]),
        ("\u0065\u0301te\u0301 Привет", ["e\u0301te\u0301", "Привет"]),
        ("น้ำ Бг҃ъ", ["น้ำ", "Бг҃ъ"]),
        ("... - !", []),
        ("", []),
    ],
)
def test_words(text: str, words: list[str]) -> None:
    assert words_of(text) == words
    assert [text[begin:end] for begin, end in word_spans(text)] == words


def test_marks_are_those_of_unicode() -> None:
    is_mark, is_extending = (re.compile(f"[{characters}]").match for characters in (COMBINING, EXTENDING))
    for character in map(chr, range(0x10000)):
        kind = unicodedata.category(character)
        if kind[0] == "M":
            assert is_extending(character), hex(ord(character))
        elif is_mark(character):
            assert kind == "Cn" or character in "ำຳ", hex(ord(character))


def test_a_letter_is_matched_in_one_way() -> None:
    """In two ways there would be 2 ** 60 ways to match this word."""
    assert re.fullmatch(f"(?:{LETTER})+", "น้ำ" * 60)
    assert not re.fullmatch(f"(?:{LETTER})+", "น้ำ" * 60 + "_")


def test_texts_that_are_joined_keep_their_words() -> None:
    texts = ["It's 3", "4 o'clock.", "我喜歡。", "貓 a-", "b"]
    assert words_of(" ".join(texts)) == [word for text in texts for word in words_of(text)]
