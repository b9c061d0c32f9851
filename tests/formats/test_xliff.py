"""XLIFF 1.2 and 2.x: which translations are used, and their codes."""

from pathlib import Path

import pytest

from tests.formats.files import read, sides, write, xliff
from tests.formats.helpers import translated


def unit_1(target: str = "<target>b</target>", attributes: str = "", source: str = "a") -> str:
    return f'<trans-unit id="u"{attributes}><source>{source}</source>{target}</trans-unit>'


def unit_2(source: str = "a", target: str = "b") -> str:
    return f'<unit id="u"><segment><source>{source}</source><target>{target}</target></segment></unit>'


def test_suggestions_and_other_namespaces_are_no_translations(tmp_path: Path) -> None:
    suggestion = "<alt-trans><source>x</source><target>y</target></alt-trans>"
    foreign = '<m:target xmlns:m="urn:m">z</m:target>'
    assert sides(write(tmp_path, "a.xlf", xliff(unit_1(f"{foreign}<target>b</target>{suggestion}")))) == [("a", "b")]
    match = '<m:match xmlns:m="urn:m"><source>x</source><target>y</target></m:match>'
    unit = unit_2().replace("<segment>", f"{match}<ignorable><source> </source></ignorable><segment>")
    assert sides(write(tmp_path, "b.xliff", xliff(unit, version="2.0"))) == [("a", "b")]


@pytest.mark.parametrize("version", ["1.2", "2.0"])
def test_codes_are_left_out(version: str, tmp_path: Path) -> None:
    inner = '<g id="1">go</g><bx id="2"/> <pc id="3">on</pc>, <bpt id="4">[</bpt>a<ept id="4">]</ept> <mrk>b</mrk>'
    unit = unit_1(f"<target>{inner}</target>", source=inner) if version == "1.2" else unit_2(inner, inner)
    assert sides(write(tmp_path, "a.xlf", xliff(unit, version=version)), "en", "de") == [("go on, a b",) * 2]


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


def test_each_file_has_its_language_once_and_their_number_costs_linear_time() -> None:
    one = '<file source-language="en"><body><trans-unit id="1"><source>a dog</source></trans-unit></body></file>'
    new = translated(f'<xliff version="1.2">{one * 3000}</xliff>', ".xlf")
    assert new.count('target-language="de"') == new.count("A DOG") == 3000
