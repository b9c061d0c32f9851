"""Segments of translators' file formats, and the pairs of two of their languages.

Files of translations have codes inside their texts: tags, variables, line breaks. Here a text is a list of strings and
codes; it is converted to marked text (see `text/marking.py`): codes on both sides become the same placeholder, all
others are removed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Literal, NamedTuple

from limelight.errors import shown
from limelight.formats.unit import Code, Parts
from limelight.text.languages import normal_code
from limelight.text.marking import MAX_PLACEHOLDERS, has_marks, placeholder
from limelight.text.pair import BadLine, Pair

_Key = tuple[str, str, int]
_LINE_ENDS = re.compile(r"[ \t\r\n]*[\t\r\n][ \t\r\n]*")


def plain_text(parts: Parts) -> str:
    """The text on one line, without its codes."""
    return _text(parts, {})


def marked_sides(source: Parts, target: Parts) -> tuple[str, str, bool]:
    """Both texts on one line each, and whether they have marks.

    Placeholders are numbered from 0 in the order of the source. The n-th code with a key on one side matches the n-th
    on the other. If only one tag of a pair is on both sides, both tags are removed. If there are more shared codes than
    placeholders, or the texts have characters that would be interpreted as marks, all codes are removed.
    """
    keys = _keys(source), _keys(target)
    shared = set(keys[0]) & set(keys[1])
    shared -= {key for key in shared if _lost_half(key, keys, shared)}
    own_marks = any(isinstance(part, str) and has_marks(part) for part in (*source, *target))
    if not 0 < len(shared) <= MAX_PLACEHOLDERS or own_marks:
        return plain_text(source), plain_text(target), False
    ordered = [key for key in keys[0] if key in shared]
    marks = {key: placeholder(number) for number, key in enumerate(ordered)}
    return _text(source, marks), _text(target, marks), True


def _keys(parts: Parts) -> list[_Key]:
    """For each code its key, its role, and the number of equal codes before it."""
    seen: Counter[tuple[str, str]] = Counter()
    found: list[_Key] = []
    for part in parts:
        if isinstance(part, Code):
            found.append((part.name, part.role, seen[part.name, part.role]))
            seen[part.name, part.role] += 1
    return found


def _lost_half(key: _Key, keys: tuple[list[_Key], list[_Key]], shared: set[_Key]) -> bool:
    """Whether exactly one side has the other tag of the pair."""
    name, role, count = key
    if role == "alone":
        return False
    other = (name, "close" if role == "open" else "open", count)
    return other not in shared and any(other in side for side in keys)


def _text(parts: Parts, marks: Mapping[_Key, str]) -> str:
    codes = iter(_keys(parts))
    pieces: list[str] = []
    for place, part in enumerate(parts):
        if isinstance(part, str):
            pieces.append(part)
            continue
        mark = marks.get(next(codes), "")
        between_words = part.role == "alone" and _ends_in_word(parts[:place]) and _begins_with_word(parts[place + 1 :])
        pieces.append(mark or " " * between_words)
    return _LINE_ENDS.sub(" ", "".join(pieces)).strip(" ")


def _ends_in_word(parts: Parts) -> bool:
    before = next((part for part in reversed(parts) if part), "")
    return isinstance(before, str) and before[-1:].isalnum()


def _begins_with_word(parts: Parts) -> bool:
    after = next((part for part in parts if part), "")
    return isinstance(after, str) and after[:1].isalnum()


MAX_VARIANTS = 20
"""Maximum number of texts of a segment in one language."""
MAX_LISTED = 20
"""Maximum number of languages that a message lists."""


States = Literal["translated", "approved", "all"]
"""Which segments are used: translated ones, only approved ones, or also drafts."""


class Variant(NamedTuple):
    """A text in one language."""

    language: str
    """As named in the file; empty if it names none."""
    parts: Parts


class Segment(NamedTuple):
    """The same text in several languages, the file's source language first."""

    line: int
    variants: Sequence[Variant]
    name: str = ""
    """Its name in the file."""
    unused: str = ""
    """Why it must not be used; empty if it may be."""
    is_draft: bool = False
    """Whether the reason is that its translation is not finished."""
    is_approved: bool = True
    """False if the format has approval states and the segment is not approved."""
    cell: str = ""
    """The content of a further column, where one was asked for."""


class LanguagePair(NamedTuple):
    """Two language codes; an empty one is taken from the file."""

    source: str = ""
    target: str = ""


def pairs_of(
    segments: Iterable[Segment | Pair | BadLine],
    file: str,
    languages: LanguagePair,
    *,
    marks: bool,
    states: States = "translated",
) -> Iterator[Pair | BadLine]:
    """The pairs of a file in two languages; if a language has several texts, all combinations.

    With `marks` inline codes on both sides become placeholders, else all codes are removed. Ends with a fatal `BadLine`
    if the file has no text in one of the languages, or has a third language and none were named.
    """
    choice = _Choice(languages)
    for segment in segments:
        if not isinstance(segment, Segment):
            yield segment
            continue
        fault = choice.take_note(segment.variants)
        if fault:
            yield BadLine(file, segment.line, fault, fatal=True)
            return
        yield from _pairs(_judged(segment, states), file, choice, marks=marks)
    missing = choice.missing()
    if missing:
        yield BadLine(file, 1, missing, fatal=True)


def _judged(segment: Segment, states: States) -> Segment:
    """The segment, used or not by its state."""
    if states == "all" and segment.is_draft:
        return segment._replace(unused="")
    if states == "approved" and not (segment.unused or segment.is_approved):
        return segment._replace(unused="not approved")
    return segment


def _pairs(segment: Segment, file: str, choice: _Choice, *, marks: bool) -> Iterator[Pair | BadLine]:
    where = f" (segment {shown(segment.name, 60)})" if segment.name else ""
    if segment.unused:
        yield BadLine(file, segment.line, segment.unused + where, unused=True)
        return
    sources, targets = choice.sides(segment.variants)
    if max(len(sources), len(targets)) > MAX_VARIANTS:
        yield BadLine(file, segment.line, f"more than {MAX_VARIANTS} texts in one language{where}")
        return
    found = [(source, target) for source, target in product(sources, targets) if source is not target]
    if not found:
        yield BadLine(file, segment.line, choice.lacking(sources, targets) + where, unused=True)
    for source, target in found:
        if marks:
            left, right, marked = marked_sides(source.parts, target.parts)
            yield Pair(left, right, file, segment.line, marked, segment.cell)
        else:
            yield Pair(plain_text(source.parts), plain_text(target.parts), file, segment.line, cell=segment.cell)


class _Choice:
    """Chooses which texts of a file are source and target.

    Named languages match those of the file by `matches`. A language that was not named is taken from the first segment
    with two languages; a file with a third one is then refused.
    """

    def __init__(self, named: LanguagePair) -> None:
        self._source, self._target = named
        self._all_named = bool(named.source and named.target)
        self._seen: dict[str, str] = {}  # normalized tag -> as written in the file
        self._any = self._any_pair = False

    def take_note(self, variants: Sequence[Variant]) -> str:
        """Record the languages of a segment; returns their fault, or an empty text."""
        languages = {tag(variant.language): variant.language for variant in variants if variant.language}
        news = languages.keys() - self._seen.keys()
        self._seen |= {each: languages[each] for each in news}
        self._any |= bool(variants)
        if not (self._source and self._target):
            self._find(list(languages))
        if not self._any_pair:
            self._any_pair = all(self.sides(variants))
        known = bool(self._source and self._target)
        if self._all_named or not news or not known or all(map(self._is_either, self._seen)):
            return ""
        return (
            f"the file has more than two languages: {self._listed()}; say which to read with --source and --target (or "
            "FROM-TO= before its name)"
        )

    def sides(self, variants: Sequence[Variant]) -> tuple[list[Variant], list[Variant]]:
        """The source texts, and the target texts."""
        if len(variants) == 2 and not all(variant.language for variant in variants):
            return self._partly_named(*variants)
        sources = [variant for variant in variants if self._is(variant.language, self._source, self._target)]
        targets = [variant for variant in variants if self._is(variant.language, self._target, self._source)]
        return sources, targets

    def lacking(self, sources: Sequence[Variant], targets: Sequence[Variant]) -> str:
        """Why a segment has no pair."""
        names = [name for name, side in ((self._source, sources), (self._target, targets)) if not side and name]
        return f"no text in {' and '.join(names)}" if names else "text in one language only"

    def missing(self) -> str:
        """The message for a file that has segments, but none in both named languages."""
        if not self._any or self._any_pair or not self._all_named:
            return ""
        names = [name for name in (self._source, self._target) if not any(matches(name, each) for each in self._seen)]
        what = f"has no text in {' and '.join(names)}" if names else "has no segment in both languages"
        return (
            f"the file {what}; its languages are: {self._listed() or 'not named'}. Name two of them: FROM-TO= before "
            "the file's name, or --source and --target (to train), --from and --to (elsewhere)"
        )

    def _partly_named(self, first: Variant, second: Variant) -> tuple[list[Variant], list[Variant]]:
        """The two texts of a file that does not name both of its languages, swapped if necessary."""
        orders = [
            (source, target)
            for source, target in ((first, second), (second, first))
            if _may_be(source.language, self._source) and _may_be(target.language, self._target)
        ]
        known = [bool(source.language and self._source) + bool(target.language and self._target)
                 for source, target in orders]  # fmt: skip
        if not orders:
            return [], []
        source, target = orders[known.index(max(known))]
        return [source], [target]

    def _is(self, language: str, wanted: str, other: str) -> bool:
        """Whether `language` matches `wanted` and is not exactly `other`."""
        exactly_other = tag(language) == tag(other) != tag(wanted)
        return bool(wanted) and matches(wanted, language) and not exactly_other

    def _is_either(self, language: str) -> bool:
        return matches(self._source, language) or matches(self._target, language)

    def _find(self, tags: Sequence[str]) -> None:
        """Take languages that were not named from a segment with two languages, without regions if that suffices."""
        codes = list(dict.fromkeys(map(normal_code, tags)))
        found = codes if len(codes) > 1 else list(tags)
        if len(found) < 2:
            return
        if not self._source:
            self._source = _other(found, self._target)
        if not self._target:
            self._target = _other(found, self._source)

    def _listed(self) -> str:
        found = sorted(shown(language, 30) for language in self._seen.values())
        return ", ".join(found[:MAX_LISTED]) + ", ..." * (len(found) > MAX_LISTED)


def _other(found: Sequence[str], language: str) -> str:
    """The first tag that does not match a language or, if all match, that is not equal to it."""
    different = (each for each in found if not (language and matches(language, each)))
    return next(different, next((each for each in found if each != tag(language)), ""))


def _may_be(language: str, wanted: str) -> bool:
    return not wanted or not language or matches(wanted, language)


@lru_cache(1000)
def tag(language: str) -> str:
    """`de-at` for `de_AT`, `deu-AT` and `de_AT.UTF-8`."""
    plain = language.strip().lower().replace("_", "-").partition(".")[0].replace("@", "-")
    code, dash, rest = plain.partition("-")
    return normal_code(code) + dash + rest


@lru_cache(10_000)
def matches(asked: str, there: str) -> bool:
    """Whether a language in a file matches a requested one: `en` matches `en-US` and vice versa; `en-GB` does not."""
    one, other = tag(asked), tag(there)
    return one == other or other.startswith(f"{one}-") or one.startswith(f"{other}-")
