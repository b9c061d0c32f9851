"""The door: one file or two, any compression, strict or with a report of what is skipped."""

import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.formats import pairs as pairs_module
from limelight.formats import read_pairs
from limelight.formats.opening import BOTH_SIDES, PIPES, ROWS
from limelight.text.pair import BadLine
from tests.formats.files import CONTENTS, SENTENCES

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
SIDES = [("a cat", "eine Katze"), ("", "leer"), ("naïve “x”", "日本\u2028語")]


def write(folder: Path, name: str, content: str, suffix: str = "") -> Path:
    path = folder / (name + suffix)
    path.write_bytes(COMPRESS[suffix](content.encode()))
    return path


@pytest.mark.parametrize("suffix", COMPRESS)
@pytest.mark.parametrize("kind", ["tsv", "jsonl", "moses"])
def test_every_kind_and_compression_reads_the_same(kind: str, suffix: str, tmp_path: Path) -> None:
    if kind == "tsv":
        files = [write(tmp_path, "t.tsv", "".join(f"{source}\t{target}\n" for source, target in SIDES), suffix)]
    elif kind == "jsonl":
        lines = [json.dumps({"source": source, "target": target}) for source, target in SIDES]
        files = [write(tmp_path, "t.jsonl", "\n".join([*lines, ""]), suffix)]
    else:
        files = [write(tmp_path, f"t.{side}", "".join(pair[side] + "\n" for pair in SIDES), suffix) for side in (0, 1)]
    pairs = list(read_pairs(files))
    assert [(pair.source, pair.target) for pair in pairs] == SIDES
    assert [pair.place for pair in pairs] == [f"{files[0]}:{line}" for line in (1, 2, 3)]


def test_what_is_wrong_with_the_whole_file_cannot_be_skipped(tmp_path: Path) -> None:
    """Somewhere in unequal files a pair has slipped, and what a damaged archive holds is anything."""
    unequal = [write(tmp_path, "t.en", "a\nb\n"), write(tmp_path, "t.de", "a\n")]
    cut = tmp_path / "cut.tsv.gz"
    cut.write_bytes(gzip.compress(b"a\tb\n" * 99)[:-1])
    for files, message in (
        (unequal, r"t\.en:2: this line has no partner"),
        ([cut], r"cut\.tsv\.gz:\d+: .* cut off here"),
    ):
        with pytest.raises(UserError, match=message):
            list(read_pairs(files, on_bad_line=lambda line: pytest.fail(f"skipped {line}")))


LINES = st.lists(st.sampled_from([b"a\tb", b"c\td\te", b"no tab", b"\xff\tb", b"n\0\tb", b"\t"]), max_size=20)


@given(LINES, st.sampled_from(list(COMPRESS)))
def test_pairs_out_and_lines_reported_are_the_lines_in(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], suffix: str
) -> None:
    path = tmp_path_factory.mktemp("pairs") / f"t.tsv{suffix}"
    path.write_bytes(COMPRESS[suffix](b"".join(line + b"\n" for line in lines)))
    bad: list[BadLine] = []
    pairs = list(read_pairs([path], on_bad_line=bad.append))
    assert sorted([pair.line for pair in pairs] + [line.line for line in bad]) == list(range(1, len(lines) + 1))
    good = {b"a\tb", b"c\td\te", b"\t"}
    assert [pair.line for pair in pairs] == [number for number, line in enumerate(lines, start=1) if line in good]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["train.en"], r"one file must hold both sides and be \.tsv, .* or \.csv .*, not \.en; give two files to read"),
        (["train"], "not without a suffix; give two files"),
        (["a.tmx", "b.en"], "holds both sides: give it alone, not as one of two files"),
        (["a.jsonl.gz", "b.en"], "holds both sides: give it alone"),
        ([], r"^0 files given; parallel text is one file \(\.tsv, .* or \.csv\) or two"),
        (["a.en"] * 3, "^3 files given"),
    ],
)
def test_files_that_are_not_parallel_text(names: list[str], message: str, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(UserError, match=message):
        read_pairs([tmp_path / name for name in names])


@pytest.mark.parametrize("compression", COMPRESS)
@pytest.mark.parametrize("suffix", CONTENTS)
def test_every_format_of_segments_is_read_by_its_name(suffix: str, compression: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"a{suffix}", CONTENTS[suffix] + "\n", compression)
    for languages in (("en", "de"), ("EN", "de-DE"), ("", "")):
        if languages == ("", "") and suffix == ".csv":
            continue  # it has a column `id`
        pairs = list(read_pairs([path], *languages))
        assert [(pair.source, pair.target) for pair in pairs] == SENTENCES
        assert all(str(pair.file) == str(path) for pair in pairs)
    turned = [(pair.source, pair.target) for pair in read_pairs([path], "de", "en")]
    assert turned == [(target, source) for source, target in SENTENCES]


def test_every_format_that_is_known_has_a_reader() -> None:
    assert set(pairs_module._READERS) == {*BOTH_SIDES, *ROWS, ".json", PIPES}
    assert {*CONTENTS, ".tsv", ".jsonl"} == {*BOTH_SIDES}


def test_segments_that_are_not_used_stop_nothing_and_are_reported_apart(tmp_path: Path) -> None:
    path = write(tmp_path, "a.po", 'msgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgstr "c"\n\nnonsense\n')
    unused: list[BadLine] = []
    pairs = read_pairs([path], on_unused=unused.append)
    assert next(pairs).source == "b"
    assert [str(line) for line in unused] == [f"{path}:1: not translated"]
    with pytest.raises(UserError, match=r"a\.po:7: not a line of a PO file: nonsense"):
        next(pairs)
