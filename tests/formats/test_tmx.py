"""Translation memories: languages, codes, and what the standard allows."""

from pathlib import Path

import pytest

from limelight.formats import read_pairs
from tests.formats.files import read, sides, tmx, unit, write


def test_units_are_pairs_with_the_line_where_they_begin(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tmx", tmx(unit(("en", "The lamp hums."), ("DE", "Die Lampe summt.")) * 2))
    pairs = list(read_pairs([path], "en", "de"))
    assert [(pair.source, pair.target, pair.line, pair.marked) for pair in pairs] == [
        ("The lamp hums.", "Die Lampe summt.", line, False) for line in (2, 3)
    ]


@pytest.mark.parametrize(
    ("header", "own", "first"),
    [('srclang="en"', "", "en"), ('srclang="EN-us"', "", "en"), ('srclang="*all*"', "", "de"),
     ('srclang="*all*"', ' srclang="en"', "en"), ('srclang="fr"', "", "de")],
)  # fmt: skip
def test_the_source_language_of_the_memory_comes_first(header: str, own: str, first: str, tmp_path: Path) -> None:
    text = tmx(unit(("de", "Gute Nacht."), ("en", "Good night."), attributes=own), header=header)
    [pair] = sides(write(tmp_path, "a.tmx", text))
    assert pair == (("Good night.", "Gute Nacht.") if first == "en" else ("Gute Nacht.", "Good night."))


def test_a_text_without_a_language_is_a_bad_segment(tmp_path: Path) -> None:
    text = tmx('<tu><tuv><seg>a</seg></tuv></tu>\n<tu tuid="7"><tuv xml:lang="en"><seg>a</seg></tuv></tu>')
    _, bad, unused, error = read(write(tmp_path, "a.tmx", text))
    assert [line.reason for line in bad] == ["a <tuv> without a language (xml:lang)"]
    assert [line.reason for line in unused] == ["no text in de (segment 7)"]
    assert "a.tmx:1: the file has no segment in both" in error


@pytest.mark.parametrize(
    ("source", "target", "pair"),
    [
        ('<bpt i="1" x="5">&lt;b&gt;</bpt>go<ept i="1">&lt;/b&gt;</ept>',
         '<bpt i="4" x="5">&lt;b&gt;</bpt>los<ept i="4">&lt;/b&gt;</ept>', ("<ph0>go<ph1>", "<ph0>los<ph1>")),
        ('<ph>{a}</ph> and <ph>{b}</ph>', '<ph>{b}</ph> und <ph>{a}</ph>', ("<ph0> and <ph1>", "<ph1> und <ph0>")),
        ('<ph x="1">{n}</ph> of <ph x="2">{n}</ph>', '<ph x="2">{n}</ph> von <ph x="1">{n}</ph>',
         ("<ph0> of <ph1>", "<ph1> von <ph0>")),
        ("<ut>x</ut>go", "los", ("go", "los")),
        ('see <hi type="term">the <ph x="1"/>lamp</hi>', 'siehe <hi>die <ph x="1"/>Lampe</hi>',
         ("see the <ph0>lamp", "siehe die <ph0>Lampe")),
    ],
)  # fmt: skip
def test_codes_become_placeholders(source: str, target: str, pair: tuple[str, str], tmp_path: Path) -> None:
    path = write(tmp_path, "a.tmx", tmx(unit(("en", source), ("de", target))))
    assert sides(path, "en", "de", marks=True) == [pair]
    [without] = sides(path, "en", "de")
    assert "<ph" not in "".join(without)
