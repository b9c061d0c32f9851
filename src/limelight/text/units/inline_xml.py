"""The text of a segment in translators' XML formats, with its inline codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import unescape

from limelight.text.units.markup import Tag, scan_tags
from limelight.text.units.unit import Code


class InlineCodes:
    """Which elements of a format are codes, and of which kind."""

    def __init__(self, around: str, begin: str, end: str, alone: str, ids: Mapping[str, tuple[str, ...]]) -> None:
        self.around = frozenset(around.split())
        """Elements whose tags are a pair of codes around text."""
        self.begin, self.end, self.alone = (frozenset(names.split()) for names in (begin, end, alone))
        """Elements that, including their content, are one code."""
        self.ids = ids
        """The attributes that identify the pair of a code."""

    def pair(self, tag: Tag) -> str:
        """The identifier of the pair of a code."""
        return next((tag.get(name) for name in self.ids.get(tag.name, ()) if tag.get(name)), tag.name)


XLIFF_1 = InlineCodes(
    "g mrk sub", "bx bpt", "ex ept", "x ph it",
    {"bx": ("rid", "id"), "ex": ("rid", "id"), "bpt": ("rid", "id"), "ept": ("rid", "id")},
)  # fmt: skip
XLIFF_2 = InlineCodes("pc mrk", "sc", "ec", "ph cp sm em", {"sc": ("id",), "ec": ("startRef", "id")})
TMX = InlineCodes("hi", "bpt", "ept", "ph it ut", {"bpt": ("i",), "ept": ("i",)})
QT = InlineCodes("", "", "", "byte", {})


def inline_parts(text: str, begin: int, end: int, inline: InlineCodes) -> Iterator[str | Code]:
    """The text and codes of a segment, whose content is from `begin` to `end`."""
    raw = text[begin:end]
    tags, place, number = list(scan_tags(raw)), 0, 0
    while number < len(tags):
        tag = tags[number]
        yield unescape(raw[place : tag.begin])
        if tag.kind == "cdata":
            yield raw[tag.begin + 9 : tag.end - 3]
            place, number = tag.end, number + 1
            continue
        if tag.name in inline.around and tag.kind in ("open", "close"):
            yield Code(raw[tag.begin : tag.end], tag.kind, tag.name)  # type: ignore[arg-type]
            place, number = tag.end, number + 1
            continue
        last = _closing(tags, number)
        whole = raw[tag.begin : tags[last].end]
        if tag.name in inline.begin:
            yield Code(whole, "open", inline.pair(tag))
        elif tag.name in inline.end:
            yield Code(whole, "close", inline.pair(tag))
        else:
            yield Code(whole)
        place, number = tags[last].end, last + 1
    yield unescape(raw[place:])


def _closing(tags: list[Tag], number: int) -> int:
    """The number of the tag that closes an element."""
    depth = 0
    for place in range(number, len(tags)):
        depth += (tags[place].kind == "open") - (tags[place].kind == "close")
        if depth <= 0:
            return place
    return len(tags) - 1
