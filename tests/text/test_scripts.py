"""Scripts without spaces between words."""

import unicodedata

import pytest

from limelight.text.words import count_words, is_unspaced

NAMES = ("CJK UNIFIED", "HIRAGANA LETTER", "KATAKANA LETTER", "THAI CHARACTER", "LAO LETTER", "KHMER LETTER",
         "MYANMAR LETTER", "TIBETAN LETTER", "BOPOMOFO LETTER", "IDEOGRAPHIC FULL STOP", "FULLWIDTH COMMA")  # fmt: skip
SPACED = ("LATIN", "CYRILLIC", "GREEK", "ARABIC LETTER", "HEBREW LETTER", "DEVANAGARI LETTER", "BENGALI LETTER",
          "HANGUL SYLLABLE", "ETHIOPIC SYLLABLE", "GEORGIAN", "ARMENIAN", "TAMIL LETTER", "DIGIT")  # fmt: skip


def test_letters_are_told_apart_by_their_unicode_names() -> None:
    """Unicode's own names are an independent list of which letter belongs to which script."""
    for code in range(0x30000):
        name = unicodedata.name(chr(code), "")
        if name.startswith(NAMES):
            assert is_unspaced(chr(code)), name
        elif name.startswith(SPACED):
            assert not is_unspaced(chr(code)), name
    assert not any(map(is_unspaced, " \u3000\xa0\t.,!-"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("  two\twords \n", 2),
        ("", 0),
        ("a , b", 3),
        ("나는 집에 간다", 3),
        ("猫が魚を見る。", 6),
        ("我 喜歡 PyTorch 2, 真的!", 7),
        ("「。」", 0),
        ("ฉัน", 2),
    ],
)
def test_words_are_counted_between_spaces_and_letters_where_there_are_none(text: str, words: int) -> None:
    assert count_words(text) == words
