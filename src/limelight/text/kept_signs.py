"""Signs that a translation has to keep: emoji, arrows, brackets, letters of other scripts.

`find_signs` finds signs between spaces, and `find_unheld` what a vocabulary or both languages lack: these become
placeholders in the model's input. `changed_signs` compares the symbols of a source and its translation. A sign is known
by its Unicode category.

`SIGNS` are letters and signs that a vocabulary of European languages should contain as tokens of their own. A character
without a token is spelled in bytes or unknown, and models rarely learn the bytes of rare characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from unicodedata import category, normalize

from limelight.text.judge import alphabet_of, every_alphabet
from limelight.text.languages import script_of
from limelight.text.marking import MARK
from limelight.text.words import is_unspaced

ASCII = "".join(map(chr, range(0x21, 0x7F)))
LATIN_1 = "".join(chr(code) for code in range(0xA1, 0x100) if code != 0xAD)
"""Without the soft hyphen, which is invisible."""
LATIN_EXTENDED_A = "".join(each for each in map(chr, range(0x100, 0x180)) if normalize("NFC", each) == each)
"""The letters of names from Central Europe, the Baltic states and Turkey; contains those of Latin-9."""
PUNCTUATION = "‐‑‒–—―‘’‚‛“”„‟†‡•…‰′″‹›⁄"
CURRENCY = "₣₤₦₩₪₫€₱₴₹₺₽₿"
ARROWS = "←↑→↓↔↕↵⇐⇑⇒⇓⇔➔➜"
MATHEMATICS = "−∙√∞∑∏∂∫∆∇∈∉∩∪⊂∅∀∃∧∨¬≈≠≡≤≥⁰⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉⅓⅔⅛⅜⅝⅞"
BULLETS = "■□▪▫▲△▶►▼▽◀◄◆◇○●◦★☆☐☑☒✓✔✗✘"
LETTERLIKE = "℃℉ℓ№℗℠™Ω℮"
GREEK = "αβγδεζηθλμνξπρστφχψωΓΔΘΛΣΦΨ"
"""As symbols in formulas."""

SIGNS = "".join(
    dict.fromkeys(
        normalize(
            "NFC",
            ASCII
            + LATIN_1
            + LATIN_EXTENDED_A
            + PUNCTUATION
            + CURRENCY
            + ARROWS
            + MATHEMATICS
            + BULLETS
            + LETTERLIKE
            + GREEK,
        )
    )
)
"""All of them, each once."""


Span = tuple[int, int]

INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))
"""Soft hyphens and spaces without width, which say nothing to a model: a table for `str.translate`."""
_JOINER, _SKIN_TONES, _TAGS = "\u200d", range(0x1F3FB, 0x1F400), range(0xE0020, 0xE0080)
_PIECE_OF_NO_TEXT = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")
_ENDS = ".,;:!?()'\"\u2026"
_OF_TEXT = frozenset(f"{_ENDS}/%\u00bf\u00a1\u00b4`")
"""Punctuation of sentences; dashes and quotation marks have categories of their own."""
_OF_CODE = frozenset("{}[]\\@#")
_TOKEN = re.compile(r"(?!^(?:[*+•‣◦]|#{1,6})\s)(?<!\S)\S+", re.MULTILINE)
"""What is between spaces, but no mark of a list or heading."""
_MAY_BE_SYMBOL = re.compile(r"[$+<=>|~{}\[\]\\@#]|[^\x00-\x7f]")


def held_characters(pieces: Iterable[str]) -> frozenset[str]:
    """The characters for which a vocabulary of these pieces has tokens."""
    return frozenset("".join(piece for piece in pieces if not _PIECE_OF_NO_TEXT.fullmatch(piece))) | {" "}


def is_sign(text: str) -> bool:
    """Whether a text consists of signs alone: no letters, digits, or punctuation of sentences only."""
    return all(map(_is_mark, text)) and any(
        _is_symbol(each) or not (_is_punctuation(each) or category(each)[0] == "M") for each in text
    )


def find_signs(text: str) -> Iterator[Span]:
    """Signs between spaces, without punctuation around them: an arrow, `&`, an emoji."""
    for match in _TOKEN.finditer(text):
        token = match[0].strip(_ENDS)
        if token and not token[0].isalpha() and is_sign(token):
            begin = text.index(token, match.start())
            yield begin, begin + len(token)


def find_unheld(text: str, is_held: Callable[[str], bool], languages: tuple[str, str] = ("", "")) -> list[Span]:
    """The parts of a text that a translation cannot write: symbols that the vocabulary does not hold, with the marks
    that follow them, and words with a letter that it does not hold or that neither language has. Adjacent ones are one
    part.

    The letters of the language of the text are in no part: a model has learned their bytes. Punctuation differs between
    scripts, and is left to the model. In scripts without spaces between words only the letters themselves are parts.

    Args:
        is_held: whether the vocabulary has tokens for a character.
        languages: the codes of the languages of the text and of its translation; empty if unknown.
    """
    if text.isascii():
        return []
    units = list(_units(text))
    missing = [_is_unheld(text[begin:end], is_held, languages) for begin, end in units]
    taken = set[int]()
    for place, is_missing in enumerate(missing):
        if is_missing and place not in taken:  # each word once
            taken |= {place, *_rest_of_word(text, units, place)}
    found = list[Span]()
    for place in sorted(taken):
        begin, end = units[place]
        if found and not text[found[-1][1] : begin].strip(" "):
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


def _units(text: str) -> Iterator[Span]:
    """Each character that is not white space, with the marks, skin tones and joined signs that follow it."""
    begin = -1
    for place, character in enumerate(text):
        joined = begin >= 0 and (
            category(character)[0] == "M"
            or character == _JOINER
            or (text[place - 1] == _JOINER and not character.isspace())
            or ord(character) in _SKIN_TONES
            or ord(character) in _TAGS
        )
        if joined:
            continue
        if begin >= 0:
            yield begin, place
        begin = -1 if character.isspace() else place
    if begin >= 0:
        yield begin, len(text)


def _is_unheld(unit: str, is_held: Callable[[str], bool], languages: tuple[str, str]) -> bool:
    if unit.isascii():
        return False
    for each in normalize("NFC", unit):
        if each.isascii() or ord(each) in INVISIBLE or MARK.match(each):
            continue
        if each.isalpha() and script_of(each) == "latin":
            if not any(_is_own(each, language) for language in languages) and (each > "\u00ff" or not is_held(each)):
                return True
        elif not is_held(each) and not _is_punctuation(each):
            return True
    return False


def _is_own(letter: str, language: str) -> bool:
    """Whether a letter belongs to the alphabet of a language; of an unknown one, whether it is in any."""
    alphabet = alphabet_of(language)
    return letter.lower() in (every_alphabet() if alphabet is None else alphabet)


def _is_mark(character: str) -> bool:
    return category(character)[0] in "SPM" or character == _JOINER or ord(character) in _TAGS


def _is_punctuation(character: str) -> bool:
    """Whether a character is punctuation of sentences in any script."""
    kind = category(character)
    of_script = character > "\u00ff" and not "\u2000" <= character <= "\u2bff"  # these are for all scripts
    return character in _OF_TEXT or kind in ("Pd", "Pi", "Pf", "Sk") or (kind[0] == "P" and of_script)


def _is_symbol(character: str) -> bool:
    return category(character) in ("So", "Sm", "Sc")


def _rest_of_word(text: str, units: Sequence[Span], place: int) -> Iterator[int]:
    """The numbers of the other units of a word."""
    begin, end = units[place]
    if not text[begin].isalnum() or is_unspaced(text[begin]):
        return
    for step in (-1, 1):
        other, edge = place + step, begin if step < 0 else end
        while 0 <= other < len(units):
            first, last = units[other]
            if edge not in (first, last) or not text[first].isalnum() or is_unspaced(text[first]):
                break
            yield other
            edge, other = (first if step < 0 else last), other + step


def changed_signs(source: str, output: str) -> tuple[str, ...]:
    """The symbols that an output has more or less often than its source. Signs beside numbers are not compared: they
    may be words, or are placeholders."""
    if not (_MAY_BE_SYMBOL.search(source) or _MAY_BE_SYMBOL.search(output)):
        return ()  # most texts
    was, now = Counter(_symbols(source)), Counter(_symbols(output))
    return tuple(sorted(each for each in was.keys() | now.keys() if was[each] != now[each]))


def _symbols(text: str) -> Iterator[str]:
    for match in _MAY_BE_SYMBOL.finditer(text):
        place, sign = match.start(), normalize("NFKC", match[0]) if match[0] >= "\uff00" else match[0]
        beside = f"{text[max(0, place - 2) : place].strip()[-1:]}{text[place + 1 : place + 3].strip()[:1]}"
        if not any(map(str.isnumeric, beside)) and (sign in _OF_CODE or (len(sign) == 1 and _is_symbol(sign))):
            yield sign
