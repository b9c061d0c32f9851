"""XML as a tree with places, and XML that is refused."""

import pytest

from limelight.formats.html import scan_tags
from limelight.formats.unit import FormatError, splice
from limelight.formats.xml import parse_xml, with_attribute


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


def test_elements_know_their_places() -> None:
    text = '<?xml version="1.0" encoding="latin-1"?>\n<a x="1>2">té\U0001f600<b/>x<c y=\'/\'></c><!-- k --></a >\n'
    root = parse_xml(text)
    found = list(root.walk("b", "c"))
    assert [text[each.begin : each.end] for each in (root, *found)] == [text[41:-1], "<b/>", "<c y='/'></c>"]
    assert [text[each.content : each.close] for each in (root, *found)] == [text[52:-6], "", ""]
    assert root.text() == "té\U0001f600x"
    new = splice(text, [with_attribute(text, root, "x", "3"), with_attribute(text, found[0], "z", "4")])
    assert new == text.replace("1>2", "3").replace("<b/>", '<b z="4"/>')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<a>", "no element found"),
        ("<a><b></a>", "mismatched"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "declares an entity"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a/>', "declares an entity"),
        ("<a>&x;</a>", "undefined entity"),
        ('<!DOCTYPE a SYSTEM "x.dtd"><a>&x;</a>', "declared nowhere"),
        ("<a>" * 300 + "</a>" * 300, "inside one another"),
    ],
)
def test_xml_that_is_refused(text: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        parse_xml(text)
