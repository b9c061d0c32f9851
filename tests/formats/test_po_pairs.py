"""Gettext catalogs: entries, flags, plurals, escapes, and lines that are none."""

from pathlib import Path

import pytest

from tests.formats.files import PO_HEADER, read, sides, write


def po(*entries: str, header: str = PO_HEADER) -> str:
    return header + "\n\n".join(entries) + "\n"


def entry(source: str = "a", target: str = "b", before: str = "") -> str:
    return f'{before}msgid "{source}"\nmsgstr "{target}"'


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_strings_go_on_over_lines_and_blank_lines_may_be_missing(end: str, tmp_path: Path) -> None:
    text = (
        'msgid ""\n"one "\n"two"\nmsgstr ""\n"eins "\n"zwei"\n'
        '# next\nmsgctxt "c"\nmsgid "three"\nmsgstr "drei"\nmsgid "four"\nmsgstr "vier"\n'
        '#~ msgid "x"\n#~ msgstr ""\n#~ "y"\n#~ msgid "z"\n#~ msgstr "z"'
    )
    path = write(tmp_path, "a.po", (PO_HEADER + text).replace("\n", end))
    pairs, bad, unused, error = read(path)
    assert (bad, error) == ([], "")
    assert [(pair.source, pair.target, pair.line) for pair in pairs] == [
        ("one two", "eins zwei", 6), ("three", "drei", 14), ("four", "vier", 16),
    ]  # fmt: skip
    assert unused == []  # obsolete entries are comments


@pytest.mark.parametrize(
    ("forms", "pairs"),
    [
        (["Lampe", "Lampen"], [("lamp", "Lampe"), ("lamps", "Lampen")]),
        (["Lampen"], [("lamps", "Lampen")]),
        (["a", "b", "c"], [("lamps", "c")]),
        (["Lampe", ""], [("lamp", "Lampe")]),
    ],
)
def test_plurals(forms: list[str], pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    strings = "\n".join(f'msgstr[{number}] "{form}"' for number, form in enumerate(forms))
    path = write(tmp_path, "a.po", po(f'msgid "lamp"\nmsgid_plural "lamps"\n{strings}', entry()))
    assert sides(path) == [*pairs, ("a", "b")]


def test_the_languages_are_those_of_the_header(tmp_path: Path) -> None:
    path = write(tmp_path, "a.po", po(entry()))
    assert sides(path, "en", "de") == sides(path) == [("a", "b")]
    assert sides(path, "de", "en") == [("b", "a")]
    assert "a.po:1: the file has no segment in both en and fr; its languages are: de." in read(path, "en", "fr")[3]
    assert sides(write(tmp_path, "b.po", entry()), "en", "fr") == [("a", "b")]


@pytest.mark.parametrize(
    ("wrong", "line", "reason"),
    [
        ("msgid Katze", 6, "not a line of a PO file: msgid Katze"),
        ('msgid "a" "b"', 6, 'not a line of a PO file: msgid "a" "b"'),
        ('msgid "a\\"', 6, "not a line of a PO file"),
        ("<html>", 6, "not a line of a PO file: <html>"),
        ('"loose"', 6, "not a line of a PO file"),
        ('msgid "a"', 6, "an entry without msgstr; is the file cut off?"),
        ('msgid "a"\nmsgid_plural "b"', 6, "an entry without msgstr; is the file cut off?"),
        ('msgid "a"\nmsgstr "b"\nmsgstr "c"', 8, "a second msgstr in one entry"),
        ('msgid "a"\nmsgstr "b\xff', 7, "not valid UTF-8 (byte 0xff at byte 10 of the line)"),
    ],
)
def test_a_wrong_line_ends_the_catalog(wrong: str, line: int, reason: str, tmp_path: Path) -> None:
    text = po(entry(), wrong, entry("c", "d", before="# a comment\n"))
    pairs, bad, _, error = read(write(tmp_path, "a.po", text.encode("latin-1")))
    assert (len(pairs), bad) == (1, [])
    assert f"a.po:{line + 3}: {reason}" in error


def test_a_huge_entry_takes_little_memory(tmp_path: Path) -> None:
    text = po('msgid "a"\nmsgstr ""\n' + '"' + "x" * 999_000 + '"\n' + ('"' + "x" * 999_000 + '"\n') * 3, entry())
    *_, error = read(write(tmp_path, "a.po.gz", text))
    assert "an entry of more than 1,000,000 characters" in error
