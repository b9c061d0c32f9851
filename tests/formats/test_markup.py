"""Tags and their places; XML that is refused."""

import pytest

from limelight.formats.markup import check_xml, closing_tag, escape_xml, scan_elements, scan_tags
from limelight.formats.unit import FormatError


def test_tags_with_their_places() -> None:
    text = "<?xml x?><!DOCTYPE a><a b=\"1>2\" c='x'>t<!-- <b> --><x:d/><![CDATA[<e>]]></a>"
    tags = list(scan_tags(text))
    assert [(tag.kind, tag.name) for tag in tags] == [
        ("instruction", ""), ("declaration", ""), ("open", "a"), ("comment", ""), ("empty", "d"), ("cdata", ""),
        ("close", "a"),
    ]  # fmt: skip
    assert "".join(text[tag.begin : tag.end] for tag in tags) == text.replace("t<!", "<!")
    value, begin, end = tags[2].where("b") or ("", 0, 0)
    assert text[begin:end] == value == "1>2"
    assert tags[2].get("C") == "x"


def test_elements_come_by_their_ends() -> None:
    text = "<a><b>1</b><c/></a>"
    found = scan_elements(text)
    assert [element.name for element, _ in found] == ["b", "c", "a"]
    assert [text[slice(*element.outer)] for element, _ in found] == ["<b>1</b>", "<c/>", text]
    assert [each.name for each in found[0][1]] == ["a"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<a>", "no element found"),
        (b"<a><b></a>", "mismatched"),
        (b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "declares an entity"),
        (b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a/>', "declares an entity"),
        (b"<a>&x;</a>", "undefined entity"),
        (b'<!DOCTYPE a SYSTEM "x.dtd"><a>&x;</a>', "declared nowhere"),
        (b"<a>" * 300 + b"</a>" * 300, "inside one another"),
        (b'<?xml version="1.0" encoding="nope"?><a/>', "encoding"),
        (b"<a>\xff</a>", "invalid token"),
    ],
)
def test_xml_that_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        check_xml(data)


def test_escapes() -> None:
    assert escape_xml("a & b < c\x00\x1b") == "a &amp; b &lt; c"


@pytest.mark.parametrize(("number", "closing"), [(0, 6), (1, 4), (2, 2), (3, 3), (5, 5), (6, 6)])
def test_each_tag_knows_where_its_element_ends(number: int, closing: int) -> None:
    """An empty element, a comment and an end are their own."""
    assert closing_tag(list(scan_tags("<a><b><c/><!-- <d> --></b><e/></a>")), number) == closing


def test_an_element_without_an_end_reaches_to_the_last_tag() -> None:
    assert closing_tag(list(scan_tags("<a><b></b><c/>")), 0) == 3
