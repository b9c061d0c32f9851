"""Scripts without spaces between words."""

import unicodedata

from limelight.text.words import is_unspaced

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
