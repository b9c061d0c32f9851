"""Limits that a file sets to a translation: the width of a text, and the lines of a subtitle. Nothing is cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from limelight.text.units.markup import Element
from limelight.text.units.unit import CODES, Limits

SUBTITLE_LINES = 2
"""Lines of a subtitle, as in most guidelines."""
_NUMBER = re.compile("[0-9]{1,9}")
_CHARACTERS = ("char", "glyph", "")
_RESTRICTIONS: dict[str, tuple[str, Callable[[str], int]]] = {
    "xliff:codepoints": ("characters", len),
    "xliff:utf8": ("bytes", lambda text: len(text.encode())),
    "xliff:utf16": ("units of UTF-16", lambda text: len(text.encode("utf-16-le")) // 2),
    "xliff:utf32": ("characters", len),
}
"""Profiles of the size restriction module of XLIFF 2: the unit, and how it is counted."""


def no_limits(text: str) -> Iterator[str]:
    """The limits of a unit without any."""
    yield from ()


def width_limits(element: Element, around: Sequence[Element], source: str) -> Limits:
    """`maxwidth` of XLIFF 1.2, of the innermost element that has one, in its `size-unit`.

    Other units than characters and bytes cannot be measured without a font: there a text is reported if it has more
    characters than the limit, or more than its source.
    """
    for each in (element, *reversed(around)):
        if _NUMBER.fullmatch(most := each.open.get("maxwidth")):
            return lambda text: _too_wide(_visible(text), int(most), each.open.get("size-unit"), source)
    return no_limits


def _too_wide(text: str, most: int, unit: str, source: str) -> Iterator[str]:
    size, name = (len(text.encode()), "bytes") if unit == "byte" else (len(text), "characters")
    if size > most:
        yield f"too long: {size} {name}, maxwidth is {most}{f' {unit}' * (unit not in ('char', 'byte', ''))}"
    elif unit not in (*_CHARACTERS, "byte") and len(text) > len(_visible(source)):
        yield f"longer than its source, and its width is not measured: maxwidth is {most} {unit}"


def size_limits(around: Sequence[Element], profile: str) -> Limits:
    """`slr:sizeRestriction` of XLIFF 2, of the innermost element that has one; `profile` is the `generalProfile` of the
    file. Other profiles are not checked."""
    if profile not in _RESTRICTIONS:
        return no_limits
    name, count = _RESTRICTIONS[profile]
    bounds = (each.open.get("slr:sizeRestriction").rpartition(",")[2].strip() for each in reversed(around))
    most = next((int(bound) for bound in bounds if _NUMBER.fullmatch(bound)), None)

    def exceeded(text: str) -> Iterator[str]:
        size = count(_visible(text))
        if most is not None and size > most:
            yield f"too long: {size} {name}, sizeRestriction is {most}"

    return exceeded


def line_limits(texts: Sequence[str], width: int, source: Sequence[str]) -> Iterator[str]:
    """Whether the lines of a subtitle, without tags, are wider than `width`, or more than two; a subtitle whose source
    is wider or higher may be so, too."""
    longest, most = max(map(len, texts), default=0), max(SUBTITLE_LINES, len(source))
    if longest > max([width, *map(len, source)]):
        yield f"a line of {longest} characters, at most {width} are read in time"
    if len(texts) > most:
        yield f"{len(texts)} lines, at most {most} are shown"


def _visible(text: str) -> str:
    return CODES.sub("", text)
