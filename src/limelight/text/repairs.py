"""What can be put right in a translation by its text alone: loops cut, numbers and addresses put back, capitals.

Each repair is a function of source and output. It is the last resort, where another search has not helped: what comes
out is the model's text no more.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from limelight.text.checks import (
    ADDRESS,
    CHARACTER_LOOP,
    FEW,
    LONG,
    MAX_NGRAM,
    MIN_LOOP_CHARACTERS,
    WORD,
    find_addresses,
    find_loop,
    find_numbers,
    is_too_long,
    longest_run,
    lost_addresses,
    lost_numbers,
)

MIN_LETTERS = 4
"""Letters that a text in capitals has at least: fewer are an abbreviation."""
UPPER = 0.9
"""The share of letters that are capitals in such a text."""
ALIKE = 0.5
"""How alike a word must be to a lost address to be taken for what became of it (`difflib`'s ratio)."""
MAX_CUTS = 1000
_END = re.compile(r"\s*[.!?…]*[\"'”»“)\]]*\s*$")


def is_capitals(text: str) -> bool:
    """Whether a text is written in ALL CAPS, but for addresses in it."""
    letters = [letter for letter in ADDRESS.sub("", text) if letter.upper() != letter.lower()]
    return len(letters) >= MIN_LETTERS and sum(letter.isupper() for letter in letters) >= UPPER * len(letters)


def lowered(text: str) -> str:
    """A text in capitals as a sentence: in small letters but for the first one. Addresses stay as they are."""
    kept = find_addresses(text)
    small = text.lower()
    for address in kept:
        small = small.replace(address.lower(), address, 1)
    first = next((place for place, letter in enumerate(small) if letter.isalpha()), 0)
    return small[:first] + small[first : first + 1].upper() + small[first + 1 :]


def raised(text: str) -> str:
    """In capitals; addresses stay as they are."""
    upper = text.upper()
    for address in find_addresses(text):
        upper = upper.replace(address.upper(), address, 1)
    return upper


def cut_loops(source: str, output: str) -> str:
    """The output without what repeats itself as no translation of the source does; each loop is there once."""
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
    """The output with one loop less."""
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


def cut_to_length(source: str, output: str) -> str:
    """The output up to the last word with which it is not too long for its source."""
    if not is_too_long(source, output):
        return output
    limit = max(FEW, int(LONG * len(source.strip())))
    return re.sub(r"\s+\S*$", "", output[: limit + 1]) if " " in output[:limit] else output[:limit]


def put_back_numbers(source: str, output: str) -> str:
    """Lost numbers in the place of those that the source does not have, as far as there are any."""
    lost, added = list(lost_numbers(source, output)), list(lost_numbers(output, source))
    for number in lost:
        if not added:
            break
        nearest = max(added, key=lambda other: _likeness(number, other))
        added.remove(nearest)
        output = _replaced(output, nearest, number, find_numbers(output))
    return output


def put_back_addresses(source: str, output: str) -> str:
    """Lost URLs and e-mail addresses in the place of the word that is most like them, or at the end."""
    for address in lost_addresses(source, output):
        words = [word for word in re.findall(r"\S+", output) if word not in find_addresses(source)]
        nearest = max(words, key=lambda word: _likeness(address, word), default="")
        if nearest and _likeness(address, nearest) >= ALIKE:
            bare = nearest.rstrip(".,;:!?")
            output = output.replace(bare, address, 1)
        else:
            end = _END.search(output)
            place = end.start() if end else len(output)
            output = f"{output[:place]} {address}{output[place:]}".strip()
    return output


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def _replaced(text: str, old: str, new: str, numbers: list[str]) -> str:
    """The text with `new` for the first `old` that stands alone."""
    if old not in numbers:
        return text
    return re.sub(rf"(?<!\d){re.escape(old)}(?!\d)", lambda _: new, text, count=1)
