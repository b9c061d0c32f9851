"""Checks of a translation against its source: loops, lengths, copies, addresses; and the case of a text.

A check compares two texts, and knows no language: it reads letters, digits and characters by their Unicode properties.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from limelight.text.marking import MARK
from limelight.text.pair import fold
from limelight.text.words import COMBINING, UNSPACED

SHORT, LONG = 0.3, 3.0
"""Bounds for the ratio of the tokens of a translation to the tokens of its source."""
FEW = 10
"""Tolerance in tokens, added to the bounds: short texts vary most."""

MIN_LETTERS = 4
"""Minimum number of letters of a text in capitals: fewer are an abbreviation."""
UPPER = 0.9
"""Minimum share of capitals among its letters."""
DOTTED = ("tr", "az")
"""Languages in which the capital of i is İ, and that of ı is I (Unicode, SpecialCasing.txt)."""

_LETTER, _GAP = rf"[\w{COMBINING}]", rf"[^\w{COMBINING}]"
WORD = re.compile(rf"{_LETTER}+")
_REPEATED_WORDS = re.compile(
    rf"(?<!{_LETTER})(?:(?P<one>{_LETTER}++)(?:{_GAP}++(?P=one)(?!{_LETTER})){{3,}}"
    rf"|(?P<several>{_LETTER}++(?:{_GAP}++{_LETTER}++){{1,7}}?)(?:{_GAP}++(?P=several)(?!{_LETTER})){{2,}})",
    re.IGNORECASE,
)
"""A word four times in a row, or two to eight words three times."""
_REPEATED_IN_SOURCE = re.compile(_REPEATED_WORDS.pattern.replace("{3,}", "{2,}"), re.IGNORECASE)
"""One to eight words three times in a row."""
_REPEATED_CHARACTERS = re.compile(r"(\S{1,6}?)\1{6,}")
MIN_LOOP_CHARACTERS = 12
"""Minimum number of characters for which a repeated character, or a few, counts as a loop."""
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010ffff"
"""Characters that stand for tags and variables; none is in an address."""
_GLUED = rf"{UNSPACED}\uac00-\ud7a3"
_IN_ADDRESS = (
    rf"(?:(?!(?<=[A-Za-z\d])[{_GLUED}])[^\s<>()\"“”«»\[\]{_PRIVATE}、。「」！-～]|\[\w*\]"
    rf"|\([^\s<>()\[\]{_PRIVATE}{_GLUED}]*\))"
)
"""Brackets are in an address only in pairs, as in `a[1]`: `[url=https://x.org]here[/url]` is markup. After a Latin
letter or digit, a letter of a script that is written without spaces, or of Korean, belongs to the text."""
_END = rf"(?<=[\w{COMBINING}/#&=%+~*$)}}-])"
_IN_NAME = rf"[^\W{_GLUED}]"
ADDRESS = re.compile(
    rf"(?:(?i:https?://|ftp://|www\.)){_IN_ADDRESS}+{_END}"
    rf"|(?<!{_IN_NAME}|[.+-])(?:{_IN_NAME}|[.+-])+@(?:{_IN_NAME}|-)+(?:\.(?:{_IN_NAME}|-)+)+"
    rf"|(?<![\w@/.-])(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|io|de|fr|uk|eu|at|ch|info)(?:/{_IN_ADDRESS}+{_END})?"
    r"(?!\w)"
)
"""URLs, e-mail addresses and names of hosts."""
_ADDRESS_OR_WORD = re.compile(rf"(?P<address>{ADDRESS.pattern})|[^\W\d_]+")
_PART_OF_ADDRESS = re.compile(r"://|@|\.\S")
"""Every address contains one of these, most sentences none: looking for them takes a third of the time."""


class Loop(NamedTuple):
    """A repetition in an output."""

    words: int
    """How many words are repeated together; 1 for a few characters."""
    begin: int
    """Where the second occurrence begins, with the text before it."""
    end: int


def find_loop(source: str, output: str) -> Loop | None:
    """The first loop of an output: words that are repeated more often in a row than words of the source that may say as
    much. In text without spaces or words, a repeated sequence of a few characters counts."""
    spaced = re.sub(f"[{UNSPACED}]", r" \g<0>", source)
    # The translation of repeated words may have twice as many words and one more; that of numbers has as many.
    of_source = [
        (len(words) if "".join(words).isdigit() else 2 * len(words) + 1, times)
        for _, words, times in _repeated_words(spaced, _REPEATED_IN_SOURCE)
    ]
    for match, words, times in _repeated_words(output, _REPEATED_WORDS):
        most = max((number for size, number in of_source if len(words) <= size), default=0)
        is_number = "".join(words).isdigit() and re.search(r"\d", source)  # which is compared by value
        if times > most and not is_number:
            return Loop(len(words), match.end(str(match.lastgroup)), match.end())
    written = re.sub(r"(?<=\d)[^\w\n](?=\d)", "", source)  # 1,000,000 as 1000000
    kinds = {"letters" if match[1].isalpha() else len(match[1]) for match in _REPEATED_CHARACTERS.finditer(written)}
    for match in _REPEATED_CHARACTERS.finditer(output):
        kind = "letters" if match[1].isalpha() else len(match[1])  # letters of one script may be several of another
        if len(match[0]) >= MIN_LOOP_CHARACTERS and kind not in kinds and match[1] * 6 not in written:
            return Loop(1, match.end(1), match.end())
    return None


def _repeated_words(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[re.Match[str], list[str], int]]:
    """Repetitions, the words that are repeated, and how often they occur in a row."""
    for match in pattern.finditer(text):
        words = WORD.findall(match[match.lastgroup or 0].casefold())
        yield match, words, len(WORD.findall(match[0])) // len(words)


def cut_loops(source: str, output: str) -> str:
    """The output with each loop reduced to one occurrence, without cutting a mark."""
    while loop := find_loop(source, output):
        shorter = output[: loop.begin] + output[loop.end :]
        if {*MARK.findall(shorter)} != {*MARK.findall(output)}:
            break
        output = shorter
    return output


def is_copied(source: str, output: str) -> bool:
    """Whether several words were copied; one word, such as a name, may be the same in both languages."""
    if fold(source) != fold(output):
        return False
    return sum(not word.isdigit() and not word.istitle() for word in {*WORD.findall(source)}) >= 2


def loses_address(source: str, output: str) -> bool:
    """Whether a URL, e-mail address or host name occurs less often in the output than in the source, unchanged."""
    return not Counter(find_addresses(source)) <= Counter(find_addresses(output))


def find_addresses(text: str) -> list[str]:
    """URLs, e-mail addresses and host names, in order."""
    return ADDRESS.findall(text) if _PART_OF_ADDRESS.search(text) else []


def without_addresses(text: str) -> str:
    """The text with a space in place of each address."""
    return ADDRESS.sub(" ", text) if _PART_OF_ADDRESS.search(text) else text


def is_capitals(text: str) -> bool:
    """Whether a text, apart from addresses, is in capitals, which case folding changes; not the letters of Cherokee."""
    letters = [letter for letter in without_addresses(text) if letter.upper() != letter.lower()]
    capitals = sum(letter.isupper() and letter != letter.casefold() for letter in letters)
    return len(letters) >= MIN_LETTERS and capitals >= UPPER * len(letters)


def recased(text: str, encode: Callable[[str], Sequence[int]]) -> str:
    """A text in capitals, converted to sentence case.

    Each word is lowercased or capitalized, whichever form has fewer tokens; of equal ones the more frequent form, whose
    ids are lower. So names and German nouns keep their capitals. Addresses are unchanged.

    Args:
        encode: a word to its ids, of a vocabulary in which frequent tokens come first.
    """

    def better(match: re.Match[str]) -> str:
        if match["address"] or not match[0].isupper():
            return match[0]
        forms = match[0].lower(), match[0].lower().capitalize()
        return min(forms, key=lambda form: (len(ids := encode(form)), max(ids, default=0)))

    recased_text = _ADDRESS_OR_WORD.sub(better, text)
    first = next((position for position, letter in enumerate(recased_text) if letter.isalpha()), 0)
    return recased_text[:first] + recased_text[first : first + 1].upper() + recased_text[first + 1 :]


def in_capitals(text: str, source: str = "", *, dotted: bool = False) -> str:
    """The text in capitals, but for its addresses, and for words that the source has in the same case, such as names of
    variables. With `dotted`, the capital of i is İ, as in Turkish."""
    kept = {*WORD.findall(source)}

    def upper(match: re.Match[str]) -> str:
        if match["address"] or match[0] in kept:
            return match[0]
        return (match[0].replace("i", "İ") if dotted else match[0]).upper()

    return _ADDRESS_OR_WORD.sub(upper, text)
