"""T7: text that is damaged is reported at its file and line, or the damage is harmless; no pair is ever misaligned.

Corpora in which every side names its line are damaged at random and read with each policy. What comes out is held to a
second, plain reading of the same bytes.
"""

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from limelight.errors import UserError
from limelight.formats import read_lines, read_pairs
from limelight.text import BadLine, Pair, SkipReport
from tests.torture.conftest import Measured
from tests.torture.corpora import COMPRESS, NAMES, Case, as_lines, drawn_case, lines_of
from tests.torture.processes import megabytes, told_by

pytestmark = pytest.mark.filterwarnings("ignore::limelight.errors.TextWarning")


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
    if case.halves:  # a cut between two archives cannot be seen
        return next(_wrong_pairs(case, found[:-1], []), "")
    strict, _, stopped = read(case.files, skip=False)
    total = max(map(len, case.lines))
    first = str(bad[0]) if bad else refused
    if stopped != first:
        return f"stop says {stopped!r}, skip says first {first!r}"
    for told in filter(None, (stopped, refused)):
        place = re.match(r"(.+?):(\d+): .", told)
        if place is None or Path(place[1]) not in case.files:
            return f"no file and line in {told!r}"
        if not case.archives_damaged and not 1 <= int(place[2]) <= total:
            return f"there is no such line: {told!r}"
    unequal = len({len(lines) for lines in case.lines}) > 1
    if refused:
        return "" if unequal or case.archives_damaged else f"refused without a cause: {refused}"
    if unequal:
        return "a line is missing on one side, and nobody said so"
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


def complaints(draw: random.Random, folder: Path, count: int, kinds: list[str]) -> tuple[list[str], int, int]:
    """What was wrong in how many damaged corpora; how many were reported; how many had to be drawn anew."""
    wrong, reported, anew = [], 0, 0
    for number in range(count):
        case = drawn_case(draw, folder, kinds[number % len(kinds)])
        while case.unknowable:
            anew += 1
            case = drawn_case(draw, folder, case.kind)
        said = complaint(case)
        if said:
            wrong.append(f"{case.kind}, {[file.name for file in case.files]}: {said}")
        reported += bool(read(case.files, skip=False)[2])
        for file in case.files:
            file.unlink()
    return wrong, reported, anew


def test_random_damage_is_reported_or_harmless(full: bool, seed: int, tmp_path: Path, measured: Measured) -> None:
    count = 10_000 if full else 400
    wrong, reported, anew = complaints(random.Random(seed), tmp_path, count, list(NAMES))
    print("\n".join(wrong[:5]))
    measured(
        "T7",
        "random corruptions of a corpus: reported at file:line or harmless, no pair misaligned",
        held=count - len(wrong),
        of=count,
        note=f"{reported:,} reported, {count - reported:,} harmless; {anew} that nobody can know drawn anew",
    )


def test_random_damage_to_lines_to_translate(full: bool, seed: int, tmp_path: Path, measured: Measured) -> None:
    """Every line out is the line in, or the reading ends at a line that is named, or warns that text may be missing.

    Archives end to end that are cut off exactly between two of them, where a line ends, are whole to any reader: these
    cases are counted.
    """
    draw, count, held, stopped, unseen = random.Random(seed), 1000 if full else 100, 0, 0, 0
    for _ in range(count):
        case = drawn_case(draw, tmp_path, "two files")
        path = case.files[0]
        half = case.halves.get(path)
        own = lines_of(case.texts[0] if half is None else half)
        found: list[str] = []
        try:
            found.extend(read_lines(path))
            unseen += half is not None
            held += found == [line.decode() for line in own]
        except UserError as error:
            place = re.match(re.escape(str(path)) + r":(\d+): .", str(error))
            before = own[: int(place[1]) - 1] if place else []
            held += place is not None and (case.archives_damaged or found == [line.decode() for line in before])
            stopped += 1
    measured("T7", "random corruptions of text to translate: the same lines, or a stop at file:line", held=held,
             of=count, note=f"{stopped} stopped; {unseen} cut off where a line and an archive end")  # fmt: skip


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
    endless, uncounted = "no line end within 100,000,000 bytes", r"more than [\d,]+ lines"
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
