"""Translation memories: languages, codes, and what the standard allows."""

from pathlib import Path

import pytest

from limelight.formats import read_pairs
from tests.formats.files import read, sides, tmx, unit, write


def test_units_are_pairs_with_the_line_where_they_begin(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tmx", tmx(unit(("en", "The lamp hums."), ("DE", "Die Lampe summt.")) * 2))
    pairs = list(read_pairs([path], "en", "de"))
    assert [(pair.source, pair.target, pair.line) for pair in pairs] == [
        ("The lamp hums.", "Die Lampe summt.", line) for line in (2, 3)
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


def test_codes_are_left_out(tmp_path: Path) -> None:
    source = (
        '<bpt i="1">&lt;b&gt;</bpt>go<ept i="1">&lt;/b&gt;</ept> <ut>x</ut>to <hi type="term">the <ph x="1"/>lamp</hi>'
    )
    path = write(tmp_path, "a.tmx", tmx(unit(("en", source), ("de", "a<ph>{b}</ph>c"))))
    assert sides(path, "en", "de") == [("go to the lamp", "a c")]
