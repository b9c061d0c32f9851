"""T7: text that is damaged is reported at its file and line, or the damage is harmless; no pair is ever misaligned.

Corpora in which every side names its line are damaged at random and read with each policy. What comes out is held to a
second, plain reading of the same bytes.
"""

import gzip
import json
import lzma
import os
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zstandard

from limelight.errors import UserError
from limelight.formats import read_pairs
from limelight.text.clean import SkipReport
from limelight.text.pair import BadLine, Pair
from tests.torture.conftest import Measured
from tests.torture.processes import megabytes, told_by

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda text: gzip.compress(text, compresslevel=1),
    ".xz": lambda text: lzma.compress(text, preset=0),
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,  # as `zstd` does
}
NAMES = {"tsv": ("t.tsv",), "jsonl": ("t.jsonl",), "two files": ("t.en", "t.de")}
WORDS = ("dog", "Straße", "日本", "𝔘𝔫", "naïve", "a\u2028b", "c\u0085d", "\ufeffe", '"quoted"', "back\\slash", "x" * 40)
SEPARATORS = ("\n", "\r", "\r\n", "\t", "\v", "\f", "\x1c", "\0", "\u0085", "\u2028", "\u2029", "\ufeff", '"', "\\")

Damage = Callable[[random.Random, bytes], bytes]


def drawn_pairs(draw: random.Random) -> list[tuple[str, str]]:
    """Pairs whose two sides name their line, each long enough that no small deletion swallows one whole."""
    return [
        tuple(f"<{number}> {' '.join(draw.choices(WORDS, k=draw.randint(2, 5)))} <{number}>" for _ in range(2))
        for number in range(1, draw.randint(3, 20))
    ]  # type: ignore[misc]


def as_lines(kind: str, sides: list[tuple[str, str]]) -> list[list[bytes]]:
    """The lines of each file that holds the corpus."""
    if kind == "tsv":
        return [[f"{source}\t{target}".encode() for source, target in sides]]
    if kind == "jsonl":
        return [[json.dumps({"source": a, "target": b}, ensure_ascii=False).encode() for a, b in sides]]
    return [[pair[side].encode() for pair in sides] for side in range(2)]


def lines_of(text: bytes) -> list[bytes]:
    """What ends at `\\n`, without a `\\r` before it and without a byte order mark: the meaning of a line."""
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r").removeprefix("\ufeff".encode()) for line in lines]


# --- damage ---


def flip(draw: random.Random, data: bytes) -> bytes:
    place = draw.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]


def insert(draw: random.Random, data: bytes) -> bytes:
    place = draw.randint(0, len(data))
    return data[:place] + draw.randbytes(draw.randint(1, 8)) + data[place:]


def delete(draw: random.Random, data: bytes) -> bytes:
    place = draw.randrange(len(data))
    return data[:place] + data[place + draw.randint(1, 8) :]


def cut(draw: random.Random, data: bytes) -> bytes:
    return data[: draw.randrange(len(data))]


def separate(draw: random.Random, data: bytes) -> bytes:
    place = draw.randint(0, len(data))
    return data[:place] + draw.choice(SEPARATORS).encode() + data[place:]


def to_a_line(draw: random.Random, data: bytes) -> bytes:
    """A line is removed, doubled, emptied, joined with the next, written in another encoding, or very long."""
    lines = data.splitlines(keepends=True)
    place = draw.randrange(len(lines))
    line = lines[place]
    surrogates = b"\xed\xa0\xb5\xed\xb4\x98"
    latin = line.decode("utf-8", "replace").encode("latin-1", "replace")
    overlong = line.replace(b" ", b"\xc0\xa0", 1)
    long = b"x" * draw.choice([3, 3, 3, 999_000, 1_000_001]) + line
    changed = draw.choice([b"", line * 2, b"\n", line.rstrip(b"\r\n"), latin, overlong, surrogates + line, long])
    return b"".join([*lines[:place], changed, *lines[place + 1 :]])


DAMAGE: tuple[Damage, ...] = (flip, insert, delete, cut, separate, separate, to_a_line, to_a_line, to_a_line)


@dataclass
class Case:
    """A damaged corpus on the disk, and the lines of its files."""

    kind: str
    files: list[Path]
    sides: list[tuple[str, str]]
    lines: list[list[bytes]]


def drawn_case(draw: random.Random, folder: Path, kind: str) -> Case:
    """A corpus with one to three damages. Where lines of both files slipped, and are equally many again, no reader can
    know: another one is drawn then."""
    sides = drawn_pairs(draw)
    ends = [draw.choice([b"\n", b"\n", b"\r\n"]) for _ in NAMES[kind]]
    pairs = zip(as_lines(kind, sides), ends, strict=True)
    texts = [end.join(lines) + draw.choice([end, b""]) for lines, end in pairs]
    moved = 0
    for _ in range(draw.choice([1, 1, 2, 3])):
        place = draw.randrange(len(texts))
        if texts[place]:
            before = len(lines_of(texts[place]))
            texts[place] = draw.choice(DAMAGE)(draw, texts[place])
            moved += len(lines_of(texts[place])) != before
    case = Case(kind, [], sides, list(map(lines_of, texts)))
    if moved > 1 and len(texts) == 2 and len(case.lines[0]) == len(case.lines[1]):
        return drawn_case(draw, folder, kind)
    for name, text in zip(NAMES[kind], texts, strict=True):
        suffix = draw.choice(list(COMPRESS))
        case.files.append(folder / f"{name}{suffix}")
        case.files[-1].write_bytes(COMPRESS[suffix](text))
    return case


# --- reading ---


def read(files: list[Path], *, skip: bool) -> tuple[list[Pair], list[BadLine], str]:
    """The pairs, what was reported, and the message that ended the reading."""
    bad: list[BadLine] = []
    found: list[Pair] = []
    try:
        found.extend(read_pairs(files, on_bad_line=bad.append if skip else None))
    except UserError as error:
        return [], bad, str(error)
    return found, bad, ""


def said_by(case: Case, number: int) -> tuple[str, str] | None:
    """The pair of a line as its own bytes say, or nothing where they say none."""
    try:
        own = [lines[number - 1].decode() for lines in case.lines]
        if case.kind == "jsonl":
            record = json.loads(own[0])
            return record["source"], record["target"]
        if case.kind == "tsv" and not own[0].strip():
            return "", ""  # a blank line, which `clean` leaves out
        left, right = own[0].split("\t")[:2] if case.kind == "tsv" else own
        return left, right
    except (ValueError, KeyError, TypeError):
        return None


def complaint(case: Case) -> str:
    """What the reader does wrong; empty where it keeps its promise."""
    found, bad, refused = read(case.files, skip=True)
    strict, _, stopped = read(case.files, skip=False)
    total, first = max(map(len, case.lines)), str(bad[0]) if bad else refused
    if stopped != first:
        return f"stop says {stopped!r}, skip says first {first!r}"
    for told in filter(None, (stopped, refused)):
        place = re.match(r"(.+?):(\d+): .", told)
        if place is None or Path(place[1]) not in case.files or not 1 <= int(place[2]) <= total:
            return f"no file and line in {told!r}"
    unequal = len({len(lines) for lines in case.lines}) > 1
    if refused or unequal:
        return "" if refused and unequal else f"lines unequal: {unequal}, refused: {refused}"
    if not bad and strict != found:
        return "stop and skip read different pairs"
    if sorted([pair.line for pair in found] + [line.line for line in bad]) != list(range(1, total + 1)):
        return "pairs and reports together are not the lines"
    return next(_wrong_pairs(case, found, bad), "")


def _wrong_pairs(case: Case, found: list[Pair], bad: list[BadLine]) -> Iterator[str]:
    whole = set(zip(*as_lines(case.kind, case.sides), strict=True))
    labels = [{pair[side]: number for number, pair in enumerate(case.sides)} for side in range(2)]
    for pair in found:
        sides = (pair.source, pair.target)
        if sides != said_by(case, pair.line):
            yield f"line {pair.line} does not say {sides}"
        if len({label[side] for label, side in zip(labels, sides, strict=True) if side in label}) == 2:
            yield f"line {pair.line} is misaligned: {sides}"
    for line in bad:
        if tuple(lines[line.line - 1] for lines in case.lines) in whole:
            yield f"line {line.line} is whole and was reported: {line}"


def test_random_damage_is_reported_or_harmless(full: bool, seed: int, tmp_path: Path, measured: Measured) -> None:
    draw, count, held = random.Random(seed), 10_000 if full else 400, 0
    for number in range(count):
        case = drawn_case(draw, tmp_path, list(NAMES)[number % len(NAMES)])
        said = complaint(case)
        if said:
            print(f"{case.kind}, {[file.name for file in case.files]}: {said}")
        held += not said
        for file in case.files:
            file.unlink()
    what = "random corruptions of a corpus: reported at file:line or harmless, no pair misaligned"
    measured("T7", what, held=held, of=count)


# --- bombs ---


def read_bombs(folder: Path, corpora: list[list[str]], tell: Callable[[Any], None]) -> None:
    """How the reading of each corpus ends, by stop and by skip, and by how many MB this process grew."""
    list(read_pairs([folder / "one.tsv"]))
    endings, before = [], megabytes("VmHWM")
    for names in corpora:
        for skip in (False, True):
            endings.append(read([folder / name for name in names], skip=skip)[2])
    with SkipReport(folder / "skipped.txt", lambda _: None) as report:
        list(read_pairs([folder / "rubbish.tsv"], on_bad_line=report.add))
    tell((endings, report.total, megabytes("VmHWM") - before))


def test_ten_gigabytes_of_one_line_are_refused_early(full: bool, tmp_path: Path, measured: Measured) -> None:
    """As a file with a hole, and as archives of at most 10 MB; one line, or lines without partners."""
    piece, corpora = 1 << 24, []
    (tmp_path / "one.en").write_bytes(b"a\n")
    (tmp_path / "one.tsv").write_bytes(b"a\tb\n")
    for suffix, compress in list(COMPRESS.items())[0 if full else 1 : None if full else 2]:
        for name, text in (("bomb.tsv", b"x" * piece), ("bomb.de", b"x" * piece), ("lines.de", b"t\n" * (piece // 2))):
            path = tmp_path / f"{name}{suffix}"
            path.write_bytes(compress(text) * (640 if suffix else 8))
            if not suffix:
                os.truncate(path, 10 << 30)
            assert path.stat().st_blocks * 512 < 150_000_000
        corpora += [[f"bomb.tsv{suffix}"], ["one.en", f"bomb.de{suffix}"], ["one.en", f"lines.de{suffix}"]]
    rubbish = 1_200_000 if full else 30_000
    (tmp_path / "rubbish.tsv").write_bytes(b"x\n" * rubbish)
    endings, skipped, megabytes = told_by(read_bombs, tmp_path, corpora)
    endless, uncounted = "no line end within 100,000,000 bytes", "this line has no partner"
    words = [endless, endless, endless, endless, uncounted, uncounted] * (len(corpora) // 3)
    held = sum(
        re.search(rf"\.(tsv|de)[.\w]*:\d: .*{expected}", message) is not None
        for expected, message in zip(words, endings, strict=True)
    )
    what = "10 GiB in at most 10 MB, one line or lines without partners: refused at file:line"
    measured("T7", what, held=held, of=len(endings))
    measured("T7", "memory for all of these and for a corpus of bad lines: less than 32 MiB more",
             held=int(megabytes < 32), of=1, note=f"{megabytes:.1f} MiB; {skipped:,} bad lines")  # fmt: skip
    assert skipped == rubbish
    assert (tmp_path / "skipped.txt").read_bytes().count(b"\n") == min(rubbish, 1_000_000)
