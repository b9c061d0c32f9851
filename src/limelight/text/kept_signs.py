"""Signs that a translation has to keep: emoji, arrows, brackets, letters of other scripts.

`find_unheld` finds what a vocabulary does not hold, which becomes a placeholder in the model's input. `changed_signs`
compares the signs of a source and its translation, and `put_back_signs` inserts those that are missing.

`SIGNS` are letters and signs that a vocabulary of European languages should contain as tokens of their own. A character
without a token is spelled in bytes or unknown, and models rarely learn the bytes of rare characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from unicodedata import category, normalize

from limelight.text.foreign import alphabet_of, every_alphabet
from limelight.text.languages import script_of
from limelight.text.marking import MARK, PLACEHOLDER
from limelight.text.measures import CURRENCIES
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
MAX_UNHELD = 20
"""Maximum number of such spans in a sentence: the other placeholders are for numbers and addresses."""
_JOINER, _SKIN_TONES, _TAGS = "\u200d", range(0x1F3FB, 0x1F400), range(0xE0020, 0xE0080)
_PIECE_OF_NO_TEXT = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]")
_ORDINARY = r".,;:!?'\"()/\u2026\-\u2010-\u2015\u201a-\u201f\u2018\u2019\u2039\u203a«»¿¡\u00b4"
_FORMAT = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ"
_UNCOMMON = rf"[^A-Za-z0-9À-ÖØ-öø-ÿ \n\u00a0{_ORDINARY}]"
"""What every sign is, and few other characters: looking for it first takes a quarter of the time."""
_MAY_BE_SIGN = re.compile(_UNCOMMON)
_SIGN = re.compile(
    rf"(?={_UNCOMMON})(?:[^\w\s{_ORDINARY}{_FORMAT}\U000f0000-\U000ffffd]"
    rf"|(?<=\S)\t+(?=\S)|(?<![^\W_])[_µªº]+(?![^\W_])|(?<![^\W_])_+|_+(?![^\W_])|(?<!m)[{_RAISED}])"
)
"""What is neither a letter, a digit nor ordinary punctuation, whose use differs between languages."""
_OF_AMOUNTS = f"#~+<>=×±−≤≥≈%‰°¢{CURRENCIES}"
_AMOUNT = re.compile(
    rf"[{_OF_AMOUNTS}]\s?(?=\d)|(?<=\d)(?:[.,][-\u2013\u2212]{{1,2}})?\s?(?:[{_OF_AMOUNTS}]|[^\W\d_]{{1,11}}\.?\s?[¢{CURRENCIES}])"
)
"""Signs beside numbers, which are often written in words: the checks of numbers and units compare them."""
_OF_CODE = re.compile(r"[{}<>\[\]\\|@#~^`]")
_SIDES = re.compile(
    rf"(?<!\S)(\w[\w.+-]*) ([<>≤≥→←⇒⇐]|[<>]=|[-=]>|<-|{PLACEHOLDER.pattern}) (?=(\w(?:[\w.+-]*\w)?)(?![\w+-]))"
)
"""What is on both sides of a sign that says something else from right to left."""
_IN_WORDS = {
    "&": re.compile(r"&|\b(?:and|und|et|u)\b", re.IGNORECASE),
    "§": re.compile(r"§|section|paragra|article", re.IGNORECASE),
    "%": re.compile(r"%|\bper[ \u00a0]?cent|prozent|\bpour[ \u00a0]cent", re.IGNORECASE),
}
"""Signs that may become words, and words that may become signs."""
_BOUNDS = [
    (
        re.compile(rf"{sign}\s?(?=[{CURRENCIES}\d])"),
        re.compile(rf"{sign}|(?<!\w)(?:{words})(?!\w)", re.IGNORECASE),
    )
    for sign, words in (
        ("[<≤]", r"less|fewer|under|below|up|most|max\w*|weniger|unter|klein\w*|höchst\w*|bis|moins|inf\w*|sous|plus"),
        ("[>≥]", r"more|over|above|great\w*|least|min\w*|mehr|über|größ\w*|wenigst\w*|ab|plus|sup\w*|moins|dessus"),
        (r"(?:±|\+/-)", "plus|minus|moins"),
        ("[~≈]", r"about|around|approx\w*|roughly|ca|circa|zirka|etwa|ungefähr|rund|gegen|env\w*|autour|près"),
    )
]
"""Signs before a number that make it a bound, a tolerance or an estimate, and what says the same."""
_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*]{1,200}?)(?<=[^\s*])\1(?![\w*])")
_REST_OF_WORD = re.compile(r"-\w")
_LATER_LETTER = re.compile("[^\x00-\u00ff]")
"""Not in Latin-1, whose letters are in words of many languages, as in café."""
_OF_NAMES = re.compile("[áãåìíðñòóõøúýþ]")
"""Letters of Latin-1 that in a text of another language are mostly in names."""
_MAY_BE_FOREIGN = re.compile(r"[áãåìíðñòóõøúýþÁÃÅÌÍÐÑÒÓÕØÚÝÞ]|[^\W\d_\x00-\xff]")
"""Such a letter in either case, or one outside of Latin-1."""
_WORD = re.compile(r"[^\W\d_]+")


def held_characters(pieces: Iterable[str]) -> frozenset[str]:
    """The characters for which a vocabulary of these pieces has tokens."""
    return frozenset("".join(piece for piece in pieces if not _PIECE_OF_NO_TEXT.fullmatch(piece))) | {" "}


def find_unheld(text: str, held: Collection[str], language: str = "") -> list[Span]:
    """The parts of a text that a vocabulary does not hold: signs with the marks that follow them, and words with such a
    letter, as a whole. Adjacent ones are one part.

    The letters of the language of the text are in no part, nor are signs of amounts: a model has learned their bytes,
    and a sign alone would be separated from its number. In scripts without spaces
    between words only the letters themselves are parts.

    Args:
        held: the characters for which the vocabulary has tokens.
        language: the code of the language of the text; empty if unknown.
    """
    units = list(_units(text))
    amounts = {place for match in _AMOUNT.finditer(text) for place in range(*match.span())}
    missing = [begin not in amounts and _is_unheld(text[begin:end], held, language) for begin, end in units]
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
    return found[:MAX_UNHELD]


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


def _is_unheld(unit: str, held: Collection[str], language: str) -> bool:
    missing = [each for each in normalize("NFC", unit) if each not in held and ord(each) not in INVISIBLE]
    return any(not (MARK.match(each) or _is_own(each, language)) for each in missing)


def _is_own(letter: str, language: str) -> bool:
    """Whether a letter belongs to the alphabet of a language; of an unknown one, whether it is in any."""
    if not letter.isalpha() or script_of(letter) != "latin":
        return False
    alphabet = alphabet_of(language)
    return letter.lower() in (every_alphabet() if alphabet is None else alphabet) or letter.isascii()


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


def find_signs(text: str) -> Iterator[Span]:
    """Signs that a translation has to keep; adjacent ones are one span."""
    place = 0
    while match := _SIGN.search(text, place):
        begin, place = match.span()
        while place < len(text) and (_SIGN.match(text, place) or category(text[place])[0] == "M"):
            place += 1
        yield begin, place


def find_foreign_words(text: str, languages: tuple[str, str]) -> list[Span]:
    """The words of a text with a letter that neither its language nor that of the translation has, such as names; none
    if a language is unknown."""
    if text.isascii() or not _MAY_BE_FOREIGN.search(text) or any(alphabet_of(each) is None for each in languages):
        return []
    return [match.span() for match in _WORD.finditer(text) if _is_foreign(match[0], languages)]


def _is_foreign(word: str, languages: tuple[str, str]) -> bool:
    """Whether a word has a letter outside of Latin-1 that is in none of the languages, or is a name with such a letter
    of Latin-1."""
    if word.isascii() or is_unspaced(word[0]):
        return False
    special = [each for each in word.lower() if _LATER_LETTER.match(each) or _OF_NAMES.match(each)]
    if not any(map(_LATER_LETTER.match, special)) and not word[0].isupper():
        return False
    return any(not any(_is_own(each, language) for language in languages) for each in special)


def changed_signs(source: str, output: str) -> tuple[str, ...]:
    """The signs of the source that the output has less or more often, and signs of code that only the output has.
    Ordinary punctuation and signs of amounts are not compared, as languages differ in them, apart from those that make
    a number a bound or an estimate. These, `&` and `%` are equal to a word."""
    if not (_MAY_BE_SIGN.search(source) or _MAY_BE_SIGN.search(output)):
        return ()  # most texts
    added = set(_OF_CODE.findall(output)).difference(source)
    if not (added or _SIGN.search(source)):
        return ()
    was, now = (Counter(_SIGN.findall(_AMOUNT.sub("", text))) for text in (source, output))
    changed = added.intersection(now) | {sign for sign, count in was.items() if now[sign] != count}
    for sign, forms in _IN_WORDS.items():
        if sign in changed and len(forms.findall(output)) >= len(forms.findall(source)):
            changed.remove(sign)
    bounds = ((sign.search(source), forms) for sign, forms in _BOUNDS)
    return tuple(sorted(changed | {each[0].strip() for each, forms in bounds if each and not forms.search(output)}))


def swapped_sides(source: str, output: str) -> tuple[str, ...]:
    """The signs between words or numbers that the output has in the other order: `b < a` for `a < b`."""
    found = _SIDES.findall(source)
    if not found:
        return ()
    there = set(_SIDES.findall(output))
    ours = set(found)
    return tuple(
        sign
        for left, sign, right in found
        if (right, sign, left) in there - ours and (left, sign, right) not in there and left != right
    )


def without_lost_emphasis(source: str, output: str) -> str:
    """The source without the asterisks around words that the output has without asterisks, and around a part of a word,
    such as `*n*-uplet`, which the other language may not have."""

    def plain(match: re.Match[str]) -> str:
        if _REST_OF_WORD.match(source, match.end()) and match[0] not in output:
            return ""
        is_plain = match[0] not in output and re.search(rf"(?<![\w*]){re.escape(match[2])}(?![\w*])", output)
        return match[2] if is_plain else match[0]

    return _EMPHASIS.sub(plain, source) if "*" in source else source


def lost_parts(source: str, parts: Iterable[Span], output: str) -> tuple[str, ...]:
    """The parts of a source that the output has less or more often, without those of ordinary punctuation."""
    wanted = {source[begin:end] for begin, end in parts}
    return tuple(sorted(part for part in wanted if output.count(part) != source.count(part) and _is_more(part)))


def _is_more(part: str) -> bool:
    """Whether a part of a text is more than ordinary punctuation."""
    return _SIGN.search(part) is not None or any(map(str.isalnum, part))


def put_back_signs(source: str, output: str, parts: Iterable[Span]) -> str:
    """The output with the parts of the source that it lacks, at the place between two words that corresponds to their
    place in the source: at the beginning, at the end, or in proportion."""
    for begin, end in parts:
        part = source[begin:end]
        if output.count(part) >= source.count(part) or not _is_more(part):
            continue
        before, after = source[:begin].strip(), source[end:].strip()
        if not before:
            output = f"{part} {output}"
        elif not any(map(str.isalnum, after)):
            body = output.rstrip(".!?… ") if after else output
            output = f"{body} {part}{output[len(body) :]}"
        else:
            share = len(before) / (len(before) + len(after))
            places = [match.start() for match in re.finditer(" ", output)] or [len(output)]
            place = min(places, key=lambda each: abs(each - share * len(output)))
            output = f"{output[:place]} {part}{output[place:]}"
    return output
