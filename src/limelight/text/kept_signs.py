"""Signs that a translation has to keep: emoji, arrows, brackets, letters of other scripts.

`find_signs` finds signs between spaces, and `find_unknown` what a vocabulary or both languages lack: these become
placeholders in the model's input. `changes_signs` compares the symbols of a source and its translation. A sign is known
by its Unicode category.

`SIGNS` are letters and signs that a vocabulary of European languages should contain as tokens of their own. A character
without a token is spelled in bytes or unknown, and models rarely learn the bytes of rare characters.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from unicodedata import category, normalize

from limelight.text.judge import alphabet_of
from limelight.text.languages import script_of
from limelight.text.marking import MARK, Found
from limelight.text.words import EXTENDING, UNSPACED

ASCII = "".join(map(chr, range(0x21, 0x7F)))
_LATIN = "".join(chr(code) for code in (*range(0xA1, 0xAD), *range(0xAE, 0x180)))
"""Latin-1 without the soft hyphen, and the letters of names from Central Europe, the Baltic states and Turkey."""
_OTHERS = (
    "‐‑‒–—―‘’‚‛“”„‟†‡•…‰′″‹›⁄₣₤₦₩₪₫€₱₴₹₺₽₿←↑→↓↔↕↵⇐⇑⇒⇓⇔➔➜−∙√∞∑∏∂∫∆∇∈∉∩∪⊂∅∀∃∧∨¬≈≠≡≤≥⁰⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉⅓⅔⅛⅜⅝⅞"
    "■□▪▫▲△▶►▼▽◀◄◆◇○●◦★☆☐☑☒✓✔✗✘℃℉ℓ№℗℠™Ω℮αβγδεζηθλμνξπρστφχψωΓΔΘΛΣΦΨ"
)
"""Punctuation, currencies, arrows, mathematics, bullets, and Greek letters as symbols in formulas."""
SIGNS = "".join(dict.fromkeys(normalize("NFC", ASCII + _LATIN + _OTHERS)))
"""All of them, each once."""

INVISIBLE = "\u00ad\u180e\u200b\u200c\u200d\u2060\ufeff"
"""Soft hyphens, joiners and spaces without width, which say nothing to a model whose vocabulary lacks them."""
_EXTENDED = rf"(?:[{EXTENDING}]|\u200d\S?)*"
_UNIT = re.compile(rf"(?:[^\W_{UNSPACED}]{_EXTENDED})+|\S{_EXTENDED}")
"""A word, or another character, with what belongs to it."""
_ENDS = ".,;:!?()'\"\u2026"
_OF_TEXT = frozenset(f"{_ENDS}/%\u00bf\u00a1\u00b4`")
"""Punctuation of sentences; dashes and quotation marks have categories of their own."""
_OF_CODE = frozenset("{}[]\\@#")
_NO_WORD = re.compile(r"[^\w\s.,;:!?'\"~～-]")
_TOKEN = re.compile(r"(?!^(?:[*+•‣◦]|#{1,6})\s)(?<!\S)\S+", re.MULTILINE)
"""What is between spaces, but no mark of a list or heading."""


def find_signs(text: str) -> Iterator[Found]:
    """Signs between spaces, without punctuation around them: an arrow, `&`, an emoji."""
    for match in _TOKEN.finditer(text):
        token = match[0].strip(_ENDS)
        if all(category(character)[0] in "SPM" or category(character) == "Cf" for character in token) and any(
            category(character)[0] in "SP" and not _is_punctuation(character) for character in token
        ):
            begin = text.index(token, match.start())
            yield Found(begin, begin + len(token))


def find_unknown(text: str, in_vocabulary: Callable[[str], bool], languages: tuple[str, str]) -> Iterator[Found]:
    """The parts of a text that a translation cannot write: symbols that the vocabulary does not hold, with the marks
    that follow them, and words with a letter that it does not hold or that neither language has. Adjacent ones are one
    part. Signs beyond ASCII between spaces are parts, too: they are rare in training text.

    Latin letters of the language of the text are in no part: a model has learned their bytes. Punctuation differs
    between scripts, and is left to the model. In scripts without spaces between words only the letters are parts.

    Args:
        in_vocabulary: whether the vocabulary has tokens for a character.
        languages: the codes of the languages of the text and of its translation; empty if unknown.
    """
    if text.isascii():
        return
    yield from (sign for sign in find_signs(text) if not text[sign.begin : sign.end].isascii())
    spans = list[Found]()
    for match in _UNIT.finditer(text):
        if any(_is_unknown(character, in_vocabulary, languages) for character in normalize("NFC", match[0])):
            adjoins = spans and not text[spans[-1].end : match.start()].strip(" ")
            begin = spans.pop().begin if adjoins else match.start()
            spans.append(Found(begin, match.end()))
    yield from spans


def _is_unknown(character: str, in_vocabulary: Callable[[str], bool], languages: tuple[str, str]) -> bool:
    if character.isascii() or character in INVISIBLE or MARK.match(character):
        return False
    alphabets = [alphabet for language in languages if (alphabet := alphabet_of(language)) is not None]
    if character.isalpha() and script_of(character) == "latin" and len(alphabets) == len(languages):
        is_own = any(alphabet.issuperset(character.lower()) for alphabet in alphabets)
        return not is_own and (character > "\u00ff" or not in_vocabulary(character))
    return not in_vocabulary(character) and not _is_punctuation(character)


def _is_punctuation(character: str) -> bool:
    """Whether a character is punctuation of sentences in any script."""
    kind = category(character)
    of_script = character > "\u00ff" and not "\u2000" <= character <= "\u2bff"  # punctuation of all scripts
    return character in _OF_TEXT or kind in ("Pd", "Pi", "Pf", "Sk") or (kind[0] == "P" and of_script)


def changes_signs(source: str, output: str) -> bool:
    """Whether an output has a symbol more or less often than its source. Signs beside numbers are not compared: they
    may be words, or are placeholders."""
    return Counter(_symbols(source)) != Counter(_symbols(output))


def _symbols(text: str) -> Iterator[str]:
    for match in _NO_WORD.finditer(text):
        position = match.start()
        sign = normalize("NFKC", match[0]) if match[0] >= "\uff00" else match[0]
        if sign in _OF_CODE or (len(sign) == 1 and category(sign) in ("So", "Sm", "Sc")):
            beside = (
                f"{text[max(0, position - 2) : position].strip()[-1:]}{text[position + 1 : position + 3].strip()[:1]}"
            )
            if not any(map(str.isnumeric, beside)):
                yield sign
