"""Segments of translators' file formats, and the pairs of two of their languages.

Files of translations have codes inside their texts: tags, variables, line breaks. Here a text is a list of strings and
codes, and the codes are removed for training.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from limelight.errors import UserError, shown
from limelight.formats.unit import Parts
from limelight.text.languages import normal_code
from limelight.text.pair import BadLine, Pair

MAX_VARIANTS = 20
"""Maximum number of texts of a segment in one language."""
MAX_LISTED = 20
"""Maximum number of languages that a message lists."""

_REMOVED = "\0"
"""In place of a code that is removed."""
_BETWEEN_WORDS = re.compile(rf"(?<=[^\W_]){_REMOVED}(?=[^\W_])")
_LINE_ENDS = re.compile(r"(?<! ) *[\t\r\n][ \t\r\n]*")


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


def plain_text(parts: Parts) -> str:
    """The text on one line, without its codes; a single code between two words becomes a space."""
    joined = "".join(part if isinstance(part, str) else _REMOVED * (part.role == "alone") for part in parts)
    return _LINE_ENDS.sub(" ", _BETWEEN_WORDS.sub(" ", joined).replace(_REMOVED, "")).strip(" ")


def pairs_of(
    segments: Iterable[Segment | Pair | BadLine], file: str, source: str = "", target: str = ""
) -> Iterator[Pair | BadLine]:
    """The pairs of a file in two languages, without inline codes; if a language has several texts, all combinations.
    A language that is not given is taken from the file.

    Raises `UserError` if the file has no text in one of the languages, or has a third language and none were named.
    """
    choice = _Choice(source, target)
    for segment in segments:
        if not isinstance(segment, Segment):
            yield segment
            continue
        fault = choice.take_note(segment.variants)
        if fault:
            raise UserError(f"{file}:{segment.line}: {fault}")
        yield from _pairs(segment, file, choice)
    missing = choice.missing()
    if missing:
        raise UserError(f"{file}:1: {missing}")


def _pairs(segment: Segment, file: str, choice: _Choice) -> Iterator[Pair | BadLine]:
    named = f" (segment {shown(segment.name, 60)})" if segment.name else ""
    sources, targets = choice.sides(segment.variants)
    combinations = [(source, target) for source, target in product(sources, targets) if source is not target]
    if segment.unused or not combinations:
        yield BadLine(file, segment.line, (segment.unused or choice.lacking(sources, targets)) + named, unused=True)
    elif max(len(sources), len(targets)) > MAX_VARIANTS:
        yield BadLine(file, segment.line, f"more than {MAX_VARIANTS} texts in one language{named}")
    else:
        for source, target in combinations:
            yield Pair(plain_text(source.parts), plain_text(target.parts), file, segment.line)


class _Choice:
    """Chooses which texts of a file are source and target.

    Named languages match the languages of the file by `matches`. A language that was not named is taken from the first
    segment with two languages; a file with a third one is then refused.
    """

    def __init__(self, source: str, target: str) -> None:
        self._wanted, self._all_named = (source, target), bool(source and target)
        self._seen: dict[str, str] = {}  # normalized tag -> as written in the file
        self._any = self._any_pair = False

    def take_note(self, variants: Sequence[Variant]) -> str:
        """Record the languages of a segment; returns their fault, or an empty text."""
        languages = {tag(variant.language): variant.language for variant in variants if variant.language}
        self._seen = languages | self._seen
        codes = list(dict.fromkeys(map(normal_code, languages)))  # without regions if that suffices
        codes_of_file = codes if len(codes) > 1 else list(languages)
        if len(codes_of_file) > 1 and not all(self._wanted):
            source = self._wanted[0] or _opposite(codes_of_file, self._wanted[1])
            self._wanted = source, self._wanted[1] or _opposite(codes_of_file, source)
        self._any = self._any or bool(variants)
        self._any_pair = self._any_pair or all(self.sides(variants))
        is_known = all(any(matches(wanted, language) for wanted in self._wanted) for language in languages)
        if self._all_named or is_known or not all(self._wanted):
            return ""
        remedy = "say which to read with --source and --target (or FROM-TO= before its name)"
        return f"the file has more than two languages: {self._listed()}; {remedy}"

    def sides(self, variants: Sequence[Variant]) -> tuple[list[Variant], list[Variant]]:
        """The source texts, and the target texts. Of a file that does not name both of its languages they are swapped
        if that fits better."""
        source, target = self._wanted
        if len(variants) == 2 and not all(variant.language for variant in variants):
            first, second = max((variants, variants[::-1]), key=self._fit)
            return ([first], [second]) if self._fit((first, second)) >= 0 else ([], [])
        sources = [variant for variant in variants if _is_in(variant, source, target)]
        return sources, [variant for variant in variants if _is_in(variant, target, source)]

    def _fit(self, sides: Sequence[Variant]) -> int:
        """How many languages match; -1 if one does not."""
        named = [
            matches(wanted, side.language)
            for wanted, side in zip(self._wanted, sides, strict=True)
            if wanted and side.language
        ]
        return len(named) if all(named) else -1

    def lacking(self, sources: Sequence[Variant], targets: Sequence[Variant]) -> str:
        """Why a segment has no pair."""
        names = [name for name, side in zip(self._wanted, (sources, targets), strict=True) if name and not side]
        return f"no text in {' and '.join(names)}" if names else "text in one language only"

    def missing(self) -> str:
        """The message for a file that has segments, but none in both named languages."""
        if not self._any or self._any_pair or not self._all_named:
            return ""
        return (
            f"the file has no segment in both {' and '.join(self._wanted)}; its languages are: "
            f"{self._listed() or 'not named'}. Name two of them: FROM-TO= before the file's name, or --source and "
            "--target (to train), --from and --to (elsewhere)"
        )

    def _listed(self) -> str:
        seen = sorted(shown(language, 30) for language in self._seen.values())
        return ", ".join(seen[:MAX_LISTED]) + ", ..." * (len(seen) > MAX_LISTED)


def _is_in(variant: Variant, wanted: str, opposite: str) -> bool:
    """Whether the language of a text matches `wanted` and is not exactly the language of the opposite side."""
    is_opposite = tag(variant.language) == tag(opposite) != tag(wanted)
    return bool(wanted) and matches(wanted, variant.language) and not is_opposite


def _opposite(languages: Sequence[str], language: str) -> str:
    """The first tag that does not match a language or, if all match, that is not equal to it."""
    return min(languages, key=lambda candidate: (matches(language, candidate), candidate == tag(language)))


@lru_cache(1000)
def tag(language: str) -> str:
    """`de-at` for `de_AT`, `deu-AT` and `de_AT.UTF-8`."""
    plain = language.strip().lower().replace("_", "-").partition(".")[0].replace("@", "-")
    code, dash, rest = plain.partition("-")
    return normal_code(code) + dash + rest


@lru_cache(10_000)
def matches(wanted: str, language: str) -> bool:
    """Whether a language in a file matches a requested one: `en` matches `en-US` and vice versa; `en-GB` does not."""
    first, second = f"{tag(wanted)}-", f"{tag(language)}-"
    return first.startswith(second) or second.startswith(first)
