"""XLIFF 1.2 and 2.x: which translations are used, and their codes."""

from pathlib import Path

import pytest

from tests.formats.files import read, sides, write, xliff


def unit_1(target: str = "<target>b</target>", attributes: str = "", source: str = "a") -> str:
    return f'<trans-unit id="u"{attributes}><source>{source}</source>{target}</trans-unit>'


def unit_2(source: str = "a", target: str | None = "b", state: str = "", attributes: str = "") -> str:
    translated = "" if target is None else f"<target>{target}</target>"
    said = f' state="{state}"' if state else ""
    return f'<unit id="u"{attributes}><segment{said}><source>{source}</source>{translated}</segment></unit>'


def test_suggestions_and_other_namespaces_are_no_translations(tmp_path: Path) -> None:
    suggestion = "<alt-trans><source>x</source><target>y</target></alt-trans>"
    foreign = '<m:target xmlns:m="urn:m">z</m:target>'
    assert sides(write(tmp_path, "a.xlf", xliff(unit_1(f"{foreign}<target>b</target>{suggestion}")))) == [("a", "b")]
    match = '<m:match xmlns:m="urn:m"><source>x</source><target>y</target></m:match>'
    unit = unit_2().replace("<segment>", f"{match}<ignorable><source> </source></ignorable><segment>")
    assert sides(write(tmp_path, "b.xliff", xliff(unit, version="2.0"))) == [("a", "b")]


@pytest.mark.parametrize(
    ("source", "target", "pair"),
    [
        ('<g id="1">go</g>!', '<g id="1">los</g>!', ("<ph0>go<ph1>!", "<ph0>los<ph1>!")),
        ('<g id="1">a<g id="2">b</g></g>', '<g id="2">d</g><g id="1">c</g>',
         ("<ph0>a<ph1>b<ph2><ph3>", "<ph1>d<ph2><ph0>c<ph3>")),
        ('<bx id="1" rid="9"/>a<ex id="2" rid="9"/>', '<bx id="1" rid="9"/>b', ("a", "b")),
        ('<bpt id="1">[</bpt>a<ept id="1">]</ept>', '<bpt id="1">[</bpt>b<ept id="1">]</ept>',
         ("<ph0>a<ph1>", "<ph0>b<ph1>")),
        ('<ph id="1">%s</ph> a<it id="2" pos="open">i</it>', 'b <ph id="1">%s</ph>', ("<ph0> a", "b <ph0>")),
        ('one <mrk mtype="term">two</mrk>', "eins zwei", ("one two", "eins zwei")),
    ],
)  # fmt: skip
def test_codes_of_1_2(source: str, target: str, pair: tuple[str, str], tmp_path: Path) -> None:
    path = write(tmp_path, "a.xlf", xliff(unit_1(f"<target>{target}</target>", source=source)))
    assert sides(path, "en", "de", marks=True) == [pair]


@pytest.mark.parametrize(
    ("source", "target", "pair"),
    [
        ('<pc id="1">go</pc>!', '<pc id="1">los</pc>!', ("<ph0>go<ph1>!", "<ph0>los<ph1>!")),
        ('a<ph id="1"/>', '<ph id="1"/>b', ("a<ph0>", "<ph0>b")),
        ('<sc id="1"/>a<ec startRef="1"/>', '<sc id="1"/>b<ec startRef="1"/>', ("<ph0>a<ph1>", "<ph0>b<ph1>")),
        ('<sc id="1"/>a<ec startRef="1"/>', 'b<ec startRef="1"/>', ("a", "b")),
        ('<mrk id="1" type="term">two</mrk> <sm id="2"/>a<em startRef="2"/>', "zwei b", ("two a", "zwei b")),
    ],
)
def test_codes_of_2(source: str, target: str, pair: tuple[str, str], tmp_path: Path) -> None:
    path = write(tmp_path, "a.xliff", xliff(unit_2(source, target), version="2.0"))
    assert sides(path, "en", "de", marks=True) == [pair]


def test_the_header_of_a_catalog_is_no_text(tmp_path: Path) -> None:
    header = unit_1("<target>Language: de</target>", ' restype="x-gettext-domain-header"', source="Language: de")
    pairs, bad, unused, error = read(write(tmp_path, "a.xlf", xliff(header + unit_1())))
    assert ([pair.source for pair in pairs], bad, unused, error) == (["a"], [], [], "")


def test_a_unit_of_several_segments_is_several_pairs(tmp_path: Path) -> None:
    def marked(*texts: str) -> str:
        return " ".join(f'<mrk mtype="seg" mid="{number}">{text}</mrk>' for number, text in enumerate(texts))

    divided = f"<seg-source>{marked('One.', 'Two.')}</seg-source>"
    unit = unit_1(divided + f"<target>{marked('Eins.', 'Zwei.')}</target>", source="One. Two.")
    assert sides(write(tmp_path, "a.xlf", xliff(unit))) == [("One.", "Eins."), ("Two.", "Zwei.")]
    unit = unit_1(divided + f"<target>{marked('Eins und zwei.')}</target>", source="One. Two.")
    assert sides(write(tmp_path, "b.xlf", xliff(unit))) == [("One. Two.", "Eins und zwei.")]
    two = "<segment><source>One.</source><target>Eins.</target></segment>"
    two += "<segment><source>Two.</source><target>Zwei.</target></segment>"
    assert sides(write(tmp_path, "c.xliff", xliff(f'<unit id="u">{two}</unit>', version="2.0"))) == [
        ("One.", "Eins."), ("Two.", "Zwei."),
    ]  # fmt: skip
