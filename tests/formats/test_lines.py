"""Lines: one item for each, ended by \\n alone, bad ones named, memory bounded."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.formats import lines as module
from limelight.formats import read_lines
from limelight.formats.lines import MAX_LINE_BYTES, scan_lines, scan_text
from limelight.text.pair import BadLine


def scan(content: bytes) -> list[str | BadLine]:
    return list(scan_lines(io.BytesIO(content), "f"))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a", ["a"]),
        (b"a\n", ["a"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"a\r\nb\r\r\n\r\n", ["a", "b\r", ""]),
        (b"a\rb\n", ["a\rb"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\nc\xef\xbb\xbfd\n", ["a", "b", "c\ufeffd"]),
        ("a\u2028b\u0085c\vd\fe\x1cf\n".encode(), ["a\u2028b\u0085c\vd\fe\x1cf"]),
    ],
)
def test_a_line_ends_at_newline_only(content: bytes, lines: list[str]) -> None:
    assert scan(content) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n\0", codec="utf-8"))))
def test_what_is_written_is_read(lines: list[str]) -> None:
    content = "".join(line + "\n" for line in lines).encode()
    assert scan(content) == [line.removesuffix("\r").removeprefix("\ufeff") for line in lines]


@given(st.binary())
def test_any_bytes_give_one_item_for_each_line(content: bytes) -> None:
    items = scan(content)
    assert len(items) == content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
    for number, item in enumerate(items, start=1):
        assert isinstance(item, str) or (item.line, item.file) == (number, "f")


@pytest.mark.parametrize("ending", [b"\n", b""])
def test_the_longest_line_is_read_and_a_longer_one_is_not(ending: bytes) -> None:
    longest = b"x" * MAX_LINE_BYTES
    assert scan(b"a\n" + longest + ending) == ["a", longest.decode()]
    first, bad, *rest = scan(b"a\n" + longest + b"x" + ending + (b"b\n" if ending else b""))
    assert first == "a"
    assert str(bad) == "f:2: the line is longer than 1,000,000 bytes; is this file text, one sentence a line?"
    assert rest == (["b"] if ending else [])


# --- a text whose lines may be of any length ---


def scan_all(content: bytes, most: int) -> list[str | BadLine]:
    """The pieces of a text, where a line is long from `most` bytes on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_LINE_BYTES", most)
        return list(scan_text(io.BytesIO(content), "f"))


@given(st.text(st.sampled_from("ab \t\r\nä😀\ufeff")), st.integers(4, 15))
def test_a_text_in_pieces_is_the_text_of_its_lines(text: str, most: int) -> None:
    content = text.encode()
    found = scan_all(content, most)
    assert "".join(map(str, found)) == "".join(f"{line}\n" for line in scan(content))
    assert all(len(str(piece).encode()) <= most + 1 for piece in found)


@pytest.mark.parametrize("wrong", [b"\xff", b"\0"])
def test_what_is_wrong_with_a_piece_leaves_the_rest_of_its_line(wrong: bytes) -> None:
    found = scan_all(b"one\ntwo thr" + wrong + b"ee four" + b" five" + b"\nsix\n", 9)
    bad = [item for item in found if isinstance(item, BadLine)]
    assert [item for item in found if isinstance(item, str)] == ["one\n", "two", " four", " five\n", "six\n"]
    assert [item.line for item in bad] == [2]
    if wrong == b"\xff":
        assert "byte 0xff at byte 8 of the line" in bad[0].reason
    last = scan_all(b"one two t" + wrong + b"\nthree\n", 7)
    assert [item for item in last if isinstance(item, str)] == ["one two", "\n", "three\n"]


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("schön".encode("cp1252"), "as by: iconv -f WINDOWS-1252 -t UTF-8 {} > NEW"),
        ("schön".encode("utf-16"), "as by: iconv -f UTF-16 -t UTF-8 {} > NEW"),
    ],
)
def test_text_of_another_encoding_is_named_with_the_command_that_converts_it(
    line: bytes, advice: str, tmp_path: Path
) -> None:
    path = tmp_path / "my text.txt"
    path.write_bytes(line + b"\n")
    with pytest.raises(UserError, match=advice.format(f"'{path}'")):
        list(read_lines(path))
