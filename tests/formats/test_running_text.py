"""Documents: all of the text is in them, in order, and the division is where it should be."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.formats import running_text as module
from limelight.formats.lines import MAX_LINE_BYTES
from limelight.formats.running_text import Part, measure, read_documents
from limelight.text.pair import BadLine

lines = st.lists(st.text(st.sampled_from("ab ä😀\t"), max_size=9), max_size=12)
shares = st.floats(0, 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("text") / "text.txt"


def parts_of(path: Path, *, by_line: bool, held_out: float = 0.0) -> list[Part]:
    extent = measure(path, by_line=by_line)
    return list(read_documents(path, extent, by_line=by_line, held_out=held_out))


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def joined(parts: list[Part], *, held_out: bool) -> str:
    return "".join(part.text for part in parts if part.held_out == held_out)


@given(lines, shares, st.integers(1, 15))
def test_a_file_is_divided_at_a_character_and_nothing_is_lost(
    path: Path, found: list[str], share: float, size: int
) -> None:
    text = "".join(f"{line}\n" for line in found)
    write(path, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PART", size)
        parts = parts_of(path, by_line=False, held_out=share)
    if not text.strip():
        assert parts == []
        return
    cut = int(len(text) * (1 - share))
    assert (joined(parts, held_out=False), joined(parts, held_out=True)) == (text[:cut], text[cut:])
    assert all(part.text for part in parts)
    # A document ends exactly where either side does.
    for side in ([part for part in parts if not part.held_out], [part for part in parts if part.held_out]):
        assert [part.ends for part in side] == [False] * (len(side) - 1) + [True] * bool(side)
    assert [part.held_out for part in parts] == sorted(part.held_out for part in parts)


@given(lines, shares)
def test_a_line_stays_whole_and_blank_ones_are_left_out(path: Path, found: list[str], share: float) -> None:
    write(path, "\n".join(found))
    parts = parts_of(path, by_line=True, held_out=share)
    kept = [line for line in found if line.strip()]
    assert [part.text for part in parts] == kept
    assert all(part.ends and part.is_line for part in parts)
    cut = int(sum(len(line) + 1 for line in kept) * (1 - share))
    places = [sum(len(line) + 1 for line in kept[:number]) for number in range(len(kept))]
    assert [part.held_out for part in parts] == [place >= cut for place in places]


BAD = {"not valid UTF-8": b"\xff\xfe\n", "NUL": b"a\0b\n", "longer than 1,000,000 bytes": b"x" * 1_000_001 + b"\n"}


@pytest.mark.parametrize(("reason", "by_line"), [(reason, by_line) for reason in BAD for by_line in (True, False)][:-1])
def test_a_bad_line_stops_with_its_place_or_is_skipped(reason: str, by_line: bool, path: Path) -> None:
    write(path, b"one\n" + BAD[reason] + b"three\n")
    with pytest.raises(UserError, match=rf"text\.txt:2: .*{reason}"):
        measure(path, by_line=by_line)
    skipped: list[BadLine] = []
    extent = measure(path, by_line=by_line, on_bad_line=skipped.append)
    parts = list(read_documents(path, extent, by_line=by_line, on_bad_line=skipped.append))
    assert "".join(part.text + "\n" * part.is_line for part in parts) == "one\nthree\n"
    assert [line.line for line in skipped] == [2, 2]


def test_a_document_may_be_one_line_of_any_length(path: Path) -> None:
    """As text8 is: nothing is lost, no part is much larger than others, and no word is divided."""
    words = "".join(f" {number:06}" for number in range(500_000))
    write(path, words)
    parts = parts_of(path, by_line=False)
    assert joined(parts, held_out=False) == words + "\n"
    assert len(parts) > 1
    assert max(len(part.text) for part in parts) < module.PART + MAX_LINE_BYTES
    assert all(part.text.startswith(" ") for part in parts)
