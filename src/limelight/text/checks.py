"""Checks of a translation against its source, and repairs of its text.

A check compares source and output: loops, lost numbers and addresses, lengths, copies. A repair is also a function of
both. It is the last resort, used when another search has not helped: its output is no longer the model's own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from operator import eq

from limelight.text.measures import lost_units, may_have_spoken_unit, other_units
from limelight.text.number_changes import UNCHANGED, Changes, compare_numbers
from limelight.text.numbers import has_digits

MAX_NGRAM = 8
"""Maximum number of words of a repetition that is searched for."""
FEWEST_TIMES = 3
"""Minimum number of repetitions of two or more words; a single word is repeated more often."""
MIN_LOOP_CHARACTERS = 12
"""Minimum number of characters for which a repeated character, or a few, counts as a loop."""
SHORT, LONG = 0.3, 3.0
"""Bounds for the ratio of the characters of a translation to those of its source."""
FEW = 20
"""Tolerance in characters, added to the bounds: short texts vary most."""

MIN_WORDS = 3
"""Minimum number of words of a text in title case."""
TITLED = 0.75
"""Minimum share of capitalized words in title case."""

WORD = re.compile(r"\w+")
LETTERS = re.compile(r"[^\W\d_]+")
_MAY_BE_CAPITAL = re.compile("[A-ZÀ-Þ\u0100-\U0010ffff]")
_SMALL_WORD = re.compile(r"[a-z](?<![^\W\d_].)[^\W\d_]{3}")
"""The beginning of a word of four letters or more that is not capitalized."""
QUOTE = re.compile(r'["„“”«»]')
"""Double quotation marks."""
SINGLE_QUOTED = re.compile(r"(?<!\w)['‘‚‹›](?=\w)[^'‘’‚‹›]*['’‘‹›](?!\w)")
"""Words between single quotation marks; an apostrophe does not match."""
_ANY_QUOTE = re.compile(r"""["„“”«»'‘‚‹›]""")
_INCH = re.compile(r"(?<!\w)(?:inch|zoll|zöll|pouce)", re.IGNORECASE)
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
"""Every address contains one of these: searching for them takes a tenth of the time."""


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
    pieces = output.split()
    if max(map(len, pieces), default=0) < MIN_LOOP_CHARACTERS or not any(map(_may_loop, pieces)):
        return ()
    repeated = CHARACTER_LOOP.search(output)
    if repeated and len(repeated[0]) >= MIN_LOOP_CHARACTERS and repeated[1] * 6 not in source:
        return (repeated[1],)
    return ()


def _may_loop(word: str) -> bool:
    """Whether characters of a word occur so often that a few of them can be a loop: seven times one to six characters,
    of which most are no new ones. The search for the loop takes ten times as long."""
    return len(word) >= MIN_LOOP_CHARACTERS and len(word) - len(set(word)) >= MIN_LOOP_CHARACTERS - 1


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


def is_too_short(source: str, output: str) -> bool:
    """Whether the output is too short for its source (`SHORT`)."""
    return len(output.strip()) < SHORT * len(source.strip()) - FEW / 4


def is_too_long(source: str, output: str) -> bool:
    """Whether the output is too long for its source (`LONG`)."""
    return len(output.strip()) > LONG * len(source.strip()) and len(output.strip()) > FEW


def is_copied(source: str, output: str) -> bool:
    """Whether several words were copied; one word, such as a name, may be the same in both languages."""
    if source.strip().casefold() != output.strip().casefold():
        return False
    return sum(not word.isdigit() and not word.istitle() for word in WORD.findall(source)) >= 2


def changed_numbers(source: str, output: str, languages: tuple[str, str] = ("", "")) -> Changes:
    """How the numbers outside of addresses differ (`compare_numbers`)."""
    if not (has_digits(source) or has_digits(output)):
        return UNCHANGED
    if _PART_OF_ADDRESS.search(source) or _PART_OF_ADDRESS.search(output):
        source, output = ADDRESS.sub(" ", source), ADDRESS.sub(" ", output)
    return compare_numbers(source, output, languages)


def has_other_units(source: str, output: str, languages: tuple[str, str] = ("", "")) -> bool:
    """Whether units next to numbers are lost or other ones (`lost_units`, `other_units`)."""
    if not (has_digits(source) or may_have_spoken_unit(source)):
        return False
    return bool(lost_units(source, output, languages[1]) or other_units(source, output, languages))


def lost_addresses(source: str, output: str) -> tuple[str, ...]:
    """URLs, e-mail addresses and host names that occur less often in the output than in the source, unchanged."""
    wanted, lost = find_addresses(source), list[str]()
    if not wanted:
        return ()
    there = Counter(find_addresses(output))
    for address in wanted:
        if there[address] > 0:
            there[address] -= 1
        else:
            lost.append(address)
    return tuple(lost)


def lost_quotes(source: str, output: str) -> int:
    """How many quotation marks fewer than the source the output has; 0 if none is lost. One of a pair that only the
    output has is one lost. What may be marks of inches, as in `a 15" screen`, may also be a word.

    Single marks count only in pairs around words: an apostrophe is not counted.
    """
    (count, inches), (there, others) = _count_quotes(source), _count_quotes(output)
    lost = _fewer(count, there)
    if inches + others and lost:
        is_kept = others or _INCH.search(output)
        lost = min(lost, _fewer(count - inches, there - others) + (0 if is_kept else inches))
    return lost


def _fewer(count: int, there: int) -> int:
    unpaired = not count % 2 and there % 2 == 1
    return max(int(unpaired), count - there) if count or unpaired else 0


def _count_quotes(text: str) -> tuple[int, int]:
    """The number of quotation marks, and how many of them may be marks of inches: after a digit, where no quotation is
    open."""
    if not _ANY_QUOTE.search(text):
        return 0, 0
    count, inches = 0, 0
    for mark in QUOTE.finditer(text):
        is_inch = mark[0] in '"”' and not (count - inches) % 2 and text[mark.start() - 1 : mark.start()].isdigit()
        count, inches = count + 1, inches + is_inch
    return count + 2 * len(SINGLE_QUOTED.findall(text)), inches


def is_title(text: str) -> bool:
    """Whether a text is in title case: at least three words, of which all with four letters or more are capitalized,
    and most of the others."""
    if _SMALL_WORD.search(text) and not _PART_OF_ADDRESS.search(text):
        return False  # most texts
    if _count_capitals(text) < TITLED * MIN_WORDS:
        return False
    words = [word for word in LETTERS.findall(_without_addresses(text)) if word.lower() != word.upper()]
    if len(words) < MIN_WORDS or all(word.isupper() for word in words if len(word) > 1):
        return False
    return all(_begins_large(word) for word in words if len(word) > 3) and (
        sum(map(_begins_large, words)) >= TITLED * len(words)
    )


def _begins_large(word: str) -> bool:
    return word[0].isupper()


def find_addresses(text: str) -> list[str]:
    """URLs, e-mail addresses and host names, in order."""
    return ADDRESS.findall(text) if _PART_OF_ADDRESS.search(text) else []


def _without_addresses(text: str) -> str:
    return ADDRESS.sub("", text) if _PART_OF_ADDRESS.search(text) else text


def _count_capitals(text: str) -> int:
    """The number of capitals; asking only what may be one takes less time."""
    return sum(map(str.isupper, _MAY_BE_CAPITAL.findall(text)))


def unknown_share(text: str, alphabet: frozenset[str]) -> float:
    """The share of letters that, lowercased, are not in `alphabet`; 0 for a text without letters."""
    letters = [letter for letter in text.lower() if letter.isalpha()]
    return sum(letter not in alphabet for letter in letters) / len(letters) if letters else 0.0


MIN_LETTERS = 4
"""Minimum number of letters of a text in capitals: fewer are an abbreviation."""
UPPER = 0.9
"""Minimum share of capitals among its letters."""
ALIKE = 0.5
"""Minimum similarity (`difflib`'s ratio) of a word to a lost address that replaces it."""
MAX_CUTS = 1000
_END = re.compile(r"\s*[.!?…]*[\"'”»“)\]]*\s*$")


def is_capitals(text: str) -> bool:
    """Whether a text, apart from addresses, is in capitals."""
    if _count_capitals(text) < UPPER * MIN_LETTERS:
        return False
    letters = [letter for letter in _without_addresses(text) if letter.upper() != letter.lower()]
    return len(letters) >= MIN_LETTERS and sum(letter.isupper() for letter in letters) >= UPPER * len(letters)


def recased(text: str, encode: Callable[[str], Sequence[int]]) -> str:
    """A text in capitals or title case, converted to sentence case.

    Each word is lowercased or capitalized, whichever form has fewer tokens; of equal ones the more frequent form, whose
    ids are lower. So names and German nouns keep their capitals. Addresses and abbreviations are unchanged.

    Args:
        encode: a word to its ids, of a vocabulary in which frequent tokens come first.
    """
    kept, capitals = [match.span() for match in ADDRESS.finditer(text)], is_capitals(text)

    def better(match: re.Match[str]) -> str:
        word = match[0]
        if any(begin <= match.start() < end for begin, end in kept):
            return word
        if not capitals and not word.istitle():
            return word
        both = word.lower(), word.lower().capitalize()
        return min(both, key=lambda each: (len(ids := encode(each)), max(ids, default=0)))

    found = LETTERS.sub(better, text)
    first = next((place for place, letter in enumerate(found) if letter.isalpha()), 0)
    return found[:first] + found[first : first + 1].upper() + found[first + 1 :]


def put_back_quotes(source: str, output: str) -> str:
    """Quote the whole output if the whole source is quoted and the output has no quotation marks."""
    bare = source.strip()
    if len(bare) < 3 or QUOTE.search(output):
        return output
    first, last = bare[0], bare[-1]
    inside = bare[1:-1]
    return f"{first}{output}{last}" if QUOTE.match(first) and QUOTE.match(last) and not QUOTE.search(inside) else output


def raised(text: str) -> str:
    """The text in capitals; addresses are unchanged."""
    upper = text.upper()
    for address in find_addresses(text):
        upper = upper.replace(address.upper(), address, 1)
    return upper


def cut_loops(source: str, output: str) -> str:
    """The output with each loop (`find_loop`) reduced to one occurrence."""
    for _ in range(MAX_CUTS):
        loop = find_loop(source, output)
        if not loop:
            return output
        shorter = _without_repetition(source, output)
        if len(shorter) >= len(output):
            return output
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


def put_back_addresses(source: str, output: str) -> str:
    """Replace the most similar words by lost URLs and e-mail addresses, where there are similar ones."""
    kept = set(find_addresses(source))
    for address in lost_addresses(source, output):
        words = [word for word in re.findall(r"\S+", output) if word not in kept]
        nearest = max(words, key=lambda word: _likeness(address, word), default="")
        if nearest and _likeness(address, nearest) >= ALIKE:
            output = output.replace(nearest.rstrip(".,;:!?"), address, 1)
    return output


def append_addresses(source: str, output: str) -> str:
    """Append lost URLs and e-mail addresses, before the final punctuation."""
    for address in lost_addresses(source, output):
        end = _END.search(output)
        place = end.start() if end else len(output)
        output = f"{output[:place]} {address}{output[place:]}".strip()
    return output


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
