"""Qt translation files: finished messages, forms for numbers, and a name that is also a language."""

from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats import read_pairs
from limelight.formats.registry import refuse_to_translate
from tests.formats.files import qt, read, write


@pytest.mark.parametrize(
    ("translation", "reason"),
    [
        ("<translation>b</translation>", ""),
        ("", "unfinished"),
        ('<translation type="unfinished"></translation>', "unfinished"),
        ('<translation type="unfinished">b</translation>', "unfinished"),
        ('<translation type="vanished">b</translation>', "obsolete"),
        ('<translation type="obsolete">b</translation>', "obsolete"),
        ("<translation></translation>", "not translated"),
    ],
)
def test_only_finished_messages_are_used(translation: str, reason: str, tmp_path: Path) -> None:
    content = qt(f"<message><source>a</source>{translation}</message>")
    pairs, bad, unused, error = read(write(tmp_path, "a.ts", content))
    assert (bad, error) == ([], "")
    assert [(pair.source, pair.target) for pair in pairs] == ([] if reason else [("a", "b")])
    assert [line.reason for line in unused] == ([reason] if reason else [])


def test_plain_text_in_tsonga_may_have_the_same_ending(tmp_path: Path) -> None:
    files = [write(tmp_path, "t.en", "a\n"), write(tmp_path, "t.ts", "b\n")]
    assert [(pair.source, pair.target) for pair in read_pairs(files)] == [("a", "b")]
    assert [(pair.source, pair.target) for pair in read_pairs(files[::-1])] == [("b", "a")]
    assert "t.ts:1: not well-formed XML" in read(files[1])[3]


def test_it_is_not_translated_line_by_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a translation file of Qt, which is not translated as it is; save it as"):
        refuse_to_translate(write(tmp_path, "a.ts", qt("")))
    refuse_to_translate(write(tmp_path, "b.ts", "plain text in Tsonga\n"))
