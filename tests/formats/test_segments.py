"""Which two languages of a file are read, and what is said where that cannot be told."""

import pytest

from limelight.errors import UserError
from limelight.formats.segments import Segment, Variant, matches, pairs_of, plain_text
from limelight.formats.unit import Code
from limelight.text.pair import Pair


def segment(line: int = 1, unused: str = "", **texts: str) -> Segment:
    """`en_US="a"` is a text in en-US; `_` one in no language."""
    variants = [Variant(name.strip("_").replace("_", "-"), [text]) for name, text in texts.items()]
    return Segment(line, variants, "s", unused)


def read(segments: list[Segment], source: str = "", target: str = "") -> list[tuple[str, str] | str]:
    found = pairs_of(segments, "f", source, target)
    items = list[tuple[str, str] | str]()
    try:
        items.extend((item.source, item.target) if isinstance(item, Pair) else item.reason for item in found)
    except UserError as error:
        items.append(str(error))
    return items


@pytest.mark.parametrize(
    ("asked", "there", "fits"),
    [
        ("en", "en-US", True),
        ("en-US", "en", True),
        ("en-US", "en-GB", False),
        ("de", "de_AT.UTF-8", True),
        ("sr-latin", "sr@latin", True),
        ("de", "den", False),
        ("zh-Hans", "zh-Hant", False),
    ],
)
def test_a_language_matches_its_variants(asked: str, there: str, fits: bool) -> None:
    assert matches(asked, there) == fits


def test_named_languages_are_chosen_among_several_in_either_direction() -> None:
    segments = [segment(en="cat", de="Katze", fr="chat")]
    assert read(segments, "en", "fr") == [("cat", "chat")]
    assert read(segments, "FR", "de") == [("chat", "Katze")]


def test_several_texts_in_a_language_are_paired_each_with_each() -> None:
    segments = [segment(en_US="color", en_GB="colour", de="Farbe", de_AT="Foarb")]
    assert sorted(read(segments, "en", "de")) == [
        ("color", "Farbe"), ("color", "Foarb"), ("colour", "Farbe"), ("colour", "Foarb"),
    ]  # fmt: skip
    assert read(segments, "en-GB", "de") == [("colour", "Farbe"), ("colour", "Foarb")]
    assert read(segments, "en-GB", "en-US") == [("colour", "color")]
    assert read([segment(pt="a", pt_BR="b")], "pt", "pt-BR") == [("a", "b")]


def test_without_names_the_two_languages_of_the_file_are_taken_the_first_as_source() -> None:
    segments = [segment(de="nur das"), segment(en_US="a", de="b"), segment(de="c", en_GB="d")]
    assert read(segments) == ["text in one language only (segment s)", ("a", "b"), ("d", "c")]
    assert read(segments[1:], target="en") == [("b", "a"), ("c", "d")]
    assert read(segments[1:], source="de") == [("b", "a"), ("c", "d")]
    assert read([segment(pt_PT="a", pt_BR="b")]) == read([segment(pt="a", pt_BR="b")]) == [("a", "b")]


@pytest.mark.parametrize("source", ["", "en"])
def test_without_names_a_third_language_is_refused_with_a_list(source: str) -> None:
    third = segment(7, en="e", fr="f")
    with pytest.raises(UserError, match="f:7: the file has more than two languages: de-AT, en, fr; say which to read"):
        list(pairs_of([segment(en="a", de_AT="b"), third], "f", source))
    assert "the file has more than two languages" in read([segment(pt_PT="a", pt_BR="b", pt_AO="c")])[0]


def test_a_language_that_the_file_does_not_have_is_told_with_those_that_it_has() -> None:
    found = read([segment(en="a", de="b"), segment(en="a", it="b")], "en", "fr")
    assert found[:2] == ["no text in fr (segment s)"] * 2
    assert "in both en and fr; its languages are: de, en, it. Name two of them: FROM-TO=" in found[2]
    found = read([segment(en="a"), segment(de="b")], "en", "de")
    assert "the file has no segment in both en and de; its languages are: de, en." in found[2]
    assert read([segment(1, "not translated", en="a", de="")], "en", "de") == ["not translated (segment s)"]
    assert read([], "en", "fr") == []


@pytest.mark.parametrize(
    ("languages", "sides"),
    [(("", ""), ("a", "b")), (("en", "de"), ("a", "b")), (("de", "en"), ("b", "a")), (("en", ""), ("a", "b")),
     (("de", ""), ("b", "a")), (("", "en"), ("b", "a"))],
)  # fmt: skip
def test_a_file_may_leave_one_language_unnamed(languages: tuple[str, str], sides: tuple[str, str]) -> None:
    assert read([segment(_="a", de="b")], *languages) == [sides]


def test_a_file_without_languages_is_taken_as_it_stands() -> None:
    segments = [Segment(1, [Variant("", ["a"]), Variant("", ["b"])])]
    assert read(segments, "de", "en") == read(segments) == [("a", "b")]


def test_long_runs_of_spaces_are_read_in_time() -> None:
    assert plain_text(["a" + " " * 500_000 + "b \n c"]) == "a" + " " * 500_000 + "b c"


def test_codes_are_removed_and_line_ends_become_spaces() -> None:
    code, bold, end = Code(""), Code("", "open"), Code("", "close")
    assert plain_text(["one", code, "two", code, "."]) == "one two."
    assert plain_text(["है", code, "और"]) == "है और"
    assert plain_text(["un", bold, "believ", end, "able"]) == "unbelievable"
    assert plain_text(["点击", code, "图标", code, "ที่นี่", code, "here"]) == "点击图标ที่นี่here"
    assert plain_text(["\n  one,\n\ttwo  three\u00a0", code, "\u00a0four \n"]) == "one, two  three\u00a0\u00a0four"
