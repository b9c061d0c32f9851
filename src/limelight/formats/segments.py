"""Segments of translators' file formats, and the pairs of two of their languages.

Files of translations have codes inside their texts: tags, variables, line breaks. Here a text is a list of strings and
codes, and the codes are removed for training.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from limelight.errors import UserError, shown
from limelight.formats.unit import Parts
from limelight.text.languages import normal_code
from limelight.text.pair import BadLine, Pair
from limelight.text.words import LETTER, UNSPACED

MAX_VARIANTS = 20
"""Texts of a segment in one language that are used."""
MAX_LISTED = 20
"""Maximum number of names that a message lists."""

_REMOVED = "\0"
"""In place of a code that is removed."""
_BETWEEN_WORDS = re.compile(rf"(?<={LETTER})(?<![{UNSPACED}]){_REMOVED}(?![{UNSPACED}])(?={LETTER})")
_LINE_ENDS = re.compile(r"(?<! ) *[\t\r\n][ \t\r\n]*")


class NoSegmentsError(UserError):
    """A file has no segment in both of the named languages."""


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
    """The text on one line, without its codes. A single code between two words becomes a space, but not in scripts
    without spaces between words."""
    joined = "".join(part if isinstance(part, str) else _REMOVED * (part.role == "alone") for part in parts)
    return _LINE_ENDS.sub(" ", _BETWEEN_WORDS.sub(" ", joined).replace(_REMOVED, "")).strip(" ")


def pairs_of(
    segments: Iterable[Segment | Pair | BadLine], file: str, source: str = "", target: str = ""
) -> Iterator[Pair | BadLine]:
    """The pairs of a file in two languages, without inline codes; if a language has several texts, all combinations.

    Named languages match the languages of the file by `matches`. A language that is not named is taken from the first
    segment with two languages.

    Raises `UserError` if the file has no text in one of the languages, or has a third language and none were named.
    """
    wanted, are_named = (source, target), bool(source and target)
    seen, has_pair = dict[str, str](), False  # normalized tag -> as written in the file
    for segment in segments:
        if not isinstance(segment, Segment):
            yield segment
            continue
        languages = {tag(variant.language): variant.language for variant in segment.variants}
        seen = languages | seen
        named = [language for language in languages if language]
        wanted = wanted if all(wanted) else _completed(*wanted, named)
        is_known = all(any(matches(side, language) for side in wanted) for language in named)
        if all(wanted) and not (are_named or is_known):
            remedy = "say which to read with --source and --target (or FROM-TO= before its name)"
            raise UserError(f"{file}:{segment.line}: the file has more than two languages: {_named(seen)}; {remedy}")
        sides = _sides(segment.variants, *wanted)
        has_pair = has_pair or all(sides)
        combinations = [(one, other) for one, other in product(*sides) if one is not other]
        if segment.unused or not combinations:
            missing = [language for language, side in zip(wanted, sides, strict=True) if language and not side]
            lacking = f"no text in {' and '.join(missing)}" if missing else "text in one language only"
            name = f" (segment {shown(segment.name, 60)})" if segment.name else ""
            yield BadLine(file, segment.line, (segment.unused or lacking) + name, unused=True)
            continue
        for one, other in combinations:
            yield Pair(plain_text(one.parts), plain_text(other.parts), file, segment.line)
    if seen and are_named and not has_pair:
        raise NoSegmentsError(
            f"{file}:1: the file has no segment in both {source} and {target}; its languages are: {_named(seen)}. "
            "Name two of them: FROM-TO= before the file's name, or --source and --target (to train), --from and --to "
            "(elsewhere)"
        )


def _named(seen: dict[str, str]) -> str:
    return listed(sorted(filter(None, seen.values())) or ["not named"])


def listed(names: Sequence[str]) -> str:
    """The first names, for a message."""
    return ", ".join(shown(name, 30) for name in names[:MAX_LISTED]) + ", ..." * (len(names) > MAX_LISTED)


def _completed(source: str, target: str, languages: Sequence[str]) -> tuple[str, str]:
    """The languages of source and target, where those that are not named are languages of a segment, if it has two."""
    codes = list(dict.fromkeys(map(normal_code, languages)))  # without regions if that suffices
    languages = codes if len(codes) > 1 else languages
    if len(languages) > 1:
        source = source or _opposite(languages, target)
        target = target or _opposite(languages, source)
    return source, target


def _sides(variants: Sequence[Variant], source: str, target: str) -> tuple[list[Variant], list[Variant]]:
    """The source texts, and the target texts. Of a file that does not name both of its languages they are swapped if
    that fits better."""
    if len(variants) != 2 or all(variant.language for variant in variants):
        return _texts_in(variants, source, target), _texts_in(variants, target, source)

    def fit(sides: Sequence[Variant]) -> int:
        """How many languages match; -1 if one does not."""
        both = zip((source, target), sides, strict=True)
        named = [matches(wanted, side.language) for wanted, side in both if wanted and side.language]
        return len(named) if all(named) else -1

    first, second = best = max((variants, variants[::-1]), key=fit)
    return ([first], [second]) if fit(best) >= 0 else ([], [])


def _texts_in(variants: Sequence[Variant], wanted: str, opposite: str) -> list[Variant]:
    """Texts whose language matches `wanted` and is not exactly the language of the opposite side."""
    is_exact = tag(opposite) != tag(wanted)
    texts = [variant for variant in variants if wanted and matches(wanted, variant.language)]
    return [text for text in texts if not (is_exact and tag(text.language) == tag(opposite))][:MAX_VARIANTS]


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
