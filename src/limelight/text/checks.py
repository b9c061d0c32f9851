"""Checks of a translation against its source: loops, lengths, copies, addresses; and the case of a text.

A check compares two texts, and knows no language: it reads letters, digits and characters by their Unicode properties.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import eq

from limelight.text.marking import MARK

MAX_NGRAM = 8
"""Maximum number of words of a repetition that is searched for."""
FEWEST_TIMES = 3
"""Minimum number of repetitions of two or more words; a single word is repeated more often."""
MIN_LOOP_CHARACTERS = 12
"""Minimum number of characters for which a repeated character, or a few, counts as a loop."""
SHORT, LONG = 0.3, 3.0
"""Bounds for the ratio of the tokens of a translation to those of its source."""
FEW = 10
"""Tolerance in tokens, added to the bounds: short texts vary most."""

MIN_LETTERS = 4
"""Minimum number of letters of a text in capitals: fewer are an abbreviation."""
UPPER = 0.9
"""Minimum share of capitals among its letters."""
MAX_CUTS = 1000

WORD = re.compile(r"\w+")
LETTERS = re.compile(r"[^\W\d_]+")
CHARACTER_LOOP = re.compile(rf"(\S{{1,6}}?)\1{{{MIN_LOOP_CHARACTERS // 2},}}")
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010ffff"
"""Characters that stand for tags and variables; none is in an address."""
_IN_ADDRESS = rf"(?:[^\s<>\"“”«»\[\]{_PRIVATE}]|\[\w*\])*"
"""Brackets are in an address only in pairs, as in `a[1]`: `[url=https://x.org]here[/url]` is markup."""
ADDRESS = re.compile(
    rf"(?:(?i:https?://|ftp://|www\.)){_IN_ADDRESS}[^\s<>\"“”«»()\[\].,;:!?'’{_PRIVATE}]"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    rf"|(?<![\w@/.-])(?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|io|de|fr|uk|eu|at|ch|info)(?:/{_IN_ADDRESS}[^\s<>\"“”«»()\[\].,;:!?'’{_PRIVATE}])?"
    r"(?!\w)"
)
"""URLs, e-mail addresses and names of hosts."""
_PART_OF_ADDRESS = re.compile(r"://|@|\.\S")
"""Every address contains one of these."""


def find_loop(source: str, output: str) -> tuple[str, ...]:
    """The words that are repeated in the output but not in the source; empty if there is no loop.

    A single word counts from four occurrences on, two or more words from three. In text without spaces or words, a
    repeated sequence of a few characters counts.
    """
    words = WORD.findall(output.casefold())
    longest = (len(words) - len(set(words))) // (FEWEST_TIMES - 1)  # else no words occur so often
    for size in range(1, min(longest, MAX_NGRAM) + 1):
        if _repeats(words, size, FEWEST_TIMES + (size == 1)):
            of_source = WORD.findall(source.casefold())
            times, place = longest_run(words, size)
            if times >= max(FEWEST_TIMES + (size == 1), 1 + longest_run(of_source, size)[0]):
                return tuple(words[place : place + size])
    if len(output) - len(set(output)) < MIN_LOOP_CHARACTERS - 1:
        return ()
    repeated = CHARACTER_LOOP.search(output)
    if repeated and len(repeated[0]) >= MIN_LOOP_CHARACTERS and repeated[1] * 6 not in source:
        return (repeated[1],)
    return ()


def _repeats(words: list[str], size: int, times: int) -> bool:
    """Whether `size` words occur `times` times in a row: then so many words are equal to the word `size` places later.
    This takes a tenth of the time of `longest_run`."""
    return bytes(map(eq, words, words[size:])).find(b"\1" * (size * (times - 1))) >= 0


def longest_run(words: list[str], size: int) -> tuple[int, int]:
    """The largest number of consecutive repetitions of `size` words, and where they begin."""
    best, where = 0, 0
    for start in range(size):
        groups = [tuple(words[place : place + size]) for place in range(start, len(words) - size + 1, size)]
        place = start
        for _, run in groupby(groups):
            count = len(list(run))
            if count > best:
                best, where = count, place
            place += count * size
    return best, where


def is_copied(source: str, output: str) -> bool:
    """Whether several words were copied; one word, such as a name, may be the same in both languages."""
    if source.strip().casefold() != output.strip().casefold():
        return False
    return sum(not word.isdigit() and not word.istitle() for word in WORD.findall(source)) >= 2


def lost_addresses(source: str, output: str) -> tuple[str, ...]:
    """URLs, e-mail addresses and host names that occur less often in the output than in the source, unchanged."""
    wanted = find_addresses(source)
    lost = Counter(wanted) - Counter(find_addresses(output)) if wanted else Counter[str]()
    return tuple(lost.elements())


def find_addresses(text: str) -> list[str]:
    """URLs, e-mail addresses and host names, in order."""
    return ADDRESS.findall(text) if _PART_OF_ADDRESS.search(text) else []


def without_addresses(text: str) -> str:
    """The text with a space in place of each address."""
    return ADDRESS.sub(" ", text) if _PART_OF_ADDRESS.search(text) else text


def unknown_share(text: str, alphabet: frozenset[str]) -> float:
    """The share of letters that, lowercased, are not in `alphabet`; 0 for a text without letters."""
    letters = [letter for letter in text.lower() if letter.isalpha()]
    return sum(letter not in alphabet for letter in letters) / len(letters) if letters else 0.0


def is_capitals(text: str) -> bool:
    """Whether a text, apart from addresses, is in capitals."""
    if text[1:].islower():  # most are
        return False
    letters = [letter for letter in without_addresses(text) if letter.upper() != letter.lower()]
    return len(letters) >= MIN_LETTERS and sum(letter.isupper() for letter in letters) >= UPPER * len(letters)


def recased(text: str, encode: Callable[[str], Sequence[int]]) -> str:
    """A text in capitals, converted to sentence case.

    Each word is lowercased or capitalized, whichever form has fewer tokens; of equal ones the more frequent form, whose
    ids are lower. So names and German nouns keep their capitals. Addresses are unchanged.

    Args:
        encode: a word to its ids, of a vocabulary in which frequent tokens come first.
    """
    kept = [match.span() for match in ADDRESS.finditer(text)]

    def better(match: re.Match[str]) -> str:
        word = match[0]
        if any(begin <= match.start() < end for begin, end in kept):
            return word
        both = word.lower(), word.lower().capitalize()
        return min(both, key=lambda each: (len(ids := encode(each)), max(ids, default=0)))

    found = LETTERS.sub(better, text)
    first = next((place for place, letter in enumerate(found) if letter.isalpha()), 0)
    return found[:first] + found[first : first + 1].upper() + found[first + 1 :]


def cut_loops(source: str, output: str) -> str:
    """The output with each loop (`find_loop`) reduced to one occurrence, without cutting a mark."""
    for _ in range(MAX_CUTS):
        if not find_loop(source, output):
            break
        shorter = _without_repetition(source, output)
        if len(shorter) >= len(output) or {*MARK.findall(shorter)} != {*MARK.findall(output)}:
            break
        output = shorter
    return output


def _without_repetition(source: str, output: str) -> str:
    """The output with one loop reduced to one occurrence."""
    spans = list(WORD.finditer(output))
    words, of_source = [span[0].casefold() for span in spans], WORD.findall(source.casefold())
    for size in range(1, MAX_NGRAM + 1):
        times, place = longest_run(words, size)
        there = longest_run(of_source, size)[0]
        if times >= max(4 if size == 1 else 3, 1 + there):
            kept = spans[place + max(1, there) * size - 1]
            return output[: kept.end()] + output[spans[place + times * size - 1].end() :]
    return CHARACTER_LOOP.sub(
        lambda match: match[1] if len(match[0]) >= MIN_LOOP_CHARACTERS and match[1] * 6 not in source else match[0],
        output,
    )
