"""Text with tags as a request may have it: what splits it, what is left alone, and how long hostile text takes."""

import random
import re
from contextlib import suppress

import pytest

from limelight.formats.html import Tags, html_units, scan_tags, xml_units
from limelight.formats.unit import FormatError, Unit, rewritten
from limelight.formats.xml import parse_xml
from limelight.text.marking import CODES
from tests.formats.helpers import upper


def seen(units: list[Unit]) -> list[str]:
    """What is translated; each code is a `|`."""
    return [CODES.sub("|", unit.text).strip() for unit in units]


def changed(text: str, units: list[Unit]) -> str:
    return rewritten(text, units, [upper(unit.text) for unit in units])


def names(*words: str) -> frozenset[str]:
    return frozenset(words)


def test_the_outline_of_xml_splits_it() -> None:
    text = "<doc>\n <head><title>a page</title></head>\n <body><p>one <b>two</b></p><p>three</p></body>\n</doc>"
    assert seen(xml_units(text)) == ["a page", "one |two|", "three"]
    assert changed(text, xml_units(text)).lower() == text
    whole = xml_units(text, Tags(outline=False))
    assert seen(whole) == ["| ||a page|| ||one |two|||three|| |"]
    assert seen(xml_units("see <b>this</b> now")) == ["see |this| now"]


def test_tags_that_split_and_tags_that_do_not() -> None:
    text = "one <x>two</x> three<br/>four"
    assert seen(xml_units(text)) == ["one |two| three|four"]
    assert seen(xml_units(text, Tags(splitting=names("br")))) == ["one |two| three", "four"]
    inside = "<p>one</p><p>two</p>"
    assert seen(xml_units(inside)) == ["one", "two"]
    assert len(xml_units(inside, Tags(inline=names("p")))) == 1
    assert seen(html_units("a <i>b</i> c<p>d</p>", "", Tags(splitting=names("i"), inline=names("p")))) == [
        "a",
        "b",
        "c|d|",
    ]


def test_what_is_ignored_stays() -> None:
    text = "see <x>no &amp; no</x> and <y>yes</y> &amp; <n:x>no</n:x> more"
    units = xml_units(text, Tags(ignored=names("x")))
    assert seen(units) == ["see | and |yes| & | more"]
    assert changed(text, units) == "SEE <x>no &amp; no</x> AND <y>YES</y> &amp; <n:x>no</n:x> MORE"
    page = "<p>see <b>no</b></p><div>no</div>"
    assert changed(page, html_units(page, "", Tags(ignored=names("b", "div")))) == "<p>SEE <b>no</b></p><div>no</div>"


@pytest.mark.parametrize("text", ["<b>a", "a</b>", "<b><i>a</b></i>", "a & b", "a < b", "&nbsp;a", "a\x00"])
def test_what_is_not_well_formed_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        xml_units(text)


def test_random_xml_comes_back_with_its_tags(seed: int) -> None:
    draw = random.Random(seed)

    def element(depth: int) -> str:
        parts = []
        for _ in range(draw.randrange(4)):
            kind = draw.randrange(4 if depth else 2)
            name = draw.choice(["a", "b", "x"])
            inner = element(depth - 1) if kind == 3 else ""
            parts.append([f"w{draw.randrange(9)} ", " ", f"<{name}/>", f"<{name}>{inner}</{name}>"][kind])
        return "".join(parts)

    for _ in range(60):
        text = element(4)
        special = Tags(
            *(names(*draw.sample(["a", "b", "x"], draw.randrange(2))) for _ in range(3)), draw.random() < 0.5
        )
        new = changed(text, xml_units(text, special))
        parse_xml(f"<r>{new}</r>")
        if not special.ignored:
            assert re.sub(" +", " ", new) == re.sub(" +", " ", text.replace("w", "W"))


@pytest.mark.parametrize(
    "piece",
    [
        "<a ",
        '<a "',
        "<a '\"",
        "<!x ",
        "<!x[ ",
        "<a b",
        "</",
        "<code>",
        "<svg>a",
        "<p title='x'>",
        "a=",
        "&",
        "<b>x",
        "<!--",
        "<?",
    ],
)
def test_hostile_text_is_read_in_time(piece: str) -> None:
    """Where the time were in proportion to the square of the length, some of these would take minutes."""
    text = piece * (100_000 // len(piece))
    for tag in scan_tags(f"<a {text}", html=True):
        tag.get("title")
    for read in (html_units, xml_units):
        for whole in (f"<p>{text[:9000]}</p>", f"<a {text[:9000]}", f"{text[:9000]}<"):
            with suppress(FormatError):
                read(whole)
