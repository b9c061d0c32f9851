"""T7: text that is damaged is reported at its file and line, or the damage is harmless; no pair is ever misaligned.

Corpora in which every side names its line are damaged at random and read with each policy. What comes out is held to a
second, plain reading of the same bytes.
"""

import json
import os
import random
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from io import BufferedIOBase
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from limelight.errors import TextWarning, UserError
from limelight.formats import lines as moses
from limelight.formats import pairs, read_lines, read_pairs
from limelight.text import BadLine, Pair
from tests.torture.conftest import Measured
from tests.torture.corpora import COMPRESS, NAMES, Case, as_lines, drawn_case, ends_with_a_line, lines_of

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
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", TextWarning)
        found, bad, refused = read(case.files, skip=True)
    if case.halves:
        said = refused or any(str(told.message).startswith(str(file)) for told in warned for file in case.halves)
        return next(_wrong_pairs(case, found[:-1], []), "") if said else "an archive was cut off, and nobody said so"
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
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always", TextWarning)
                found.extend(read_lines(path))
            unseen += half is not None and ends_with_a_line(half)
            held += found == [line.decode() for line in own] and bool(half is None or ends_with_a_line(half) or warned)
        except UserError as error:
            place = re.match(re.escape(str(path)) + r":(\d+): .", str(error))
            before = own[: int(place[1]) - 1] if place else []
            held += place is not None and (case.archives_damaged or found == [line.decode() for line in before])
            stopped += 1
    measured("T7", "random corruptions of text to translate: the same lines, or a stop at file:line", held=held,
             of=count, note=f"{stopped} stopped; {unseen} cut off where a line and an archive end")  # fmt: skip


# --- readers with a fault, which the check must find ---


def lines_as_unicode_has_them(stream: BufferedIOBase, name: str) -> Iterator[str | BadLine]:
    with suppress(OSError):
        yield from stream.read().decode("utf-8", "replace").splitlines()


def each_side_for_itself(source: Path, target: Path) -> Iterator[Pair]:
    with moses.open_text(source) as left, moses.open_text(target) as right:
        sides = [[line for line in moses.scan_lines(side, "") if isinstance(line, str)] for side in (left, right)]
    for number, pair in enumerate(zip_longest(*sides, fillvalue=""), start=1):
        yield Pair(*pair, str(source), number)


def nothing_is_fatal(scanned: Iterator[Pair | BadLine], on_bad_line: Any, *_others: Any) -> Iterator[Pair]:
    for item in scanned:
        if isinstance(item, Pair):
            yield item
        elif on_bad_line is None:
            raise UserError(str(item))
        else:
            on_bad_line(item)


FAULTS = ((moses, "scan_lines", lines_as_unicode_has_them), (pairs, "scan_moses", each_side_for_itself),
          (pairs, "_pairs", nothing_is_fatal))  # fmt: skip


def test_what_nobody_can_know(tmp_path: Path, measured: Measured) -> None:
    """A line missing here and one too many there: the files are equally long. The check sees it, no reader can."""
    sides = [(f"<{number}> source", f"<{number}> target") for number in range(1, 9)]
    sources, targets = as_lines("two files", sides)
    texts = [
        b"\n".join(sources) + b"\n",
        b"\n".join([*targets[:2], *targets[3:6], b"one too many", *targets[6:]]) + b"\n",
    ]
    files = [tmp_path / name for name in NAMES["two files"]]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text)
    said = complaint(Case("two files", files, sides, texts))
    measured("T7", "negative control: slips that cancel out are seen by the check, though no reader can know them",
             held=said.startswith("line 3 is misaligned"), of=1)  # fmt: skip


# --- every kind of dirt by name ---

GOOD = b"a\tb\n"
DIRTY_LINES = {
    "not valid UTF-8": [b"f\xfcr\tx", b"\xc0\xaf\tx", b"\xed\xa0\xb5\xed\xb4\x98\tx", b"a\tb\xe2\x82"],
    "holds a NUL": [b"a\0\tb"],
    "the file looks like UTF-16": ["A dog runs\there".encode("utf-16-le")],
    "longer than 1,000,000 bytes": [b"a\t" + b"x" * 1_000_000],
    "no TAB": [b"a b", b"x "],
    "a CR stands between columns": [b"a\tb\rc\td"],
}
DIRTY_OBJECTS = {
    "not valid JSON": ["{", "", '{"source": "a", "target": "b", "score": NaN}', '{"source": "a\tb", "target": "c"}'],
    "nested too deeply": ["[" * 500_000],
    "the object has no 'target'": ['{"source": "a", "Target": "b"}'],
    "the object has 'source' more than once": ['{"source": "a", "source": "b", "target": "c"}'],
    "'target' is not text but a number": ['{"source": "a", "target": 7}'],
    "not a JSON object but a list": ['["a", "b"]'],
    "half of a surrogate pair": ['{"source": "\\ud83d", "target": "b"}'],
}
HARMLESS = {
    "a mark before two lines": (b"\xef\xbb\xbfa\tb\n\xef\xbb\xbfc\td\n", [("a", "b"), ("c", "d")]),
    "CR LF": (b"a\tb\r\nc\td\r\n", [("a", "b"), ("c", "d")]),
    "separators inside": ("a\u2028\u0085\v\f\x1c\tb\r!\n".encode(), [("a\u2028\u0085\v\f\x1c", "b\r!")]),
    "no end of the last line": (b"a\tb\nc\td", [("a", "b"), ("c", "d")]),
    "empty sides": (b"\tb\na\t\n\t\n", [("", "b"), ("a", ""), ("", "")]),
    "blank lines": (b"a\tb\n\n \r\nc\td\n\n", [("a", "b"), ("", ""), ("", ""), ("c", "d"), ("", "")]),
    "further columns": (b"a\tb\tc\n", [("a", "b")]),
    "nothing": (b"", []),
}


def test_dirty_lines_are_reported_at_their_place(tmp_path: Path, measured: Measured) -> None:
    cases = [("t.tsv", GOOD, line, words) for words, lines in DIRTY_LINES.items() for line in lines]
    good = json.dumps({"source": "a", "target": "b"}).encode() + b"\n"
    cases += [("t.jsonl", good, line.encode(), words) for words, lines in DIRTY_OBJECTS.items() for line in lines]
    held = 0
    for name, beside, line, words in cases:
        for suffix, compress in COMPRESS.items():
            path = tmp_path / f"{name}{suffix}"
            path.write_bytes(compress(beside + line + b"\n" + beside))
            _, _, stopped = read([path], skip=False)
            found, bad, _ = read([path], skip=True)
            told = [stopped, *map(str, bad)]
            held += len(told) == 2 and all(text.startswith(f"{path}:2: ") and words in text for text in told) and [
                (pair.source, pair.target, pair.line) for pair in found] == [("a", "b", 1), ("a", "b", 3)]  # fmt: skip
    measured("T7", "kinds of bad lines: told by stop, left out and told by skip", held=held, of=4 * len(cases))


def test_harmless_oddities_are_read_as_they_are(tmp_path: Path, measured: Measured) -> None:
    held = 0
    for content, sides in HARMLESS.values():
        for suffix, compress in COMPRESS.items():
            path = tmp_path / f"t.tsv{suffix}"
            path.write_bytes(compress(content[:5]) + compress(content[5:]))  # archives end to end are one text
            held += [(pair.source, pair.target) for pair in read_pairs([path])] == sides
    measured("T7", "harmless oddities read as they are", held=held, of=4 * len(HARMLESS))


def test_what_is_wrong_with_a_whole_file_is_refused_by_both_policies(tmp_path: Path, measured: Measured) -> None:
    (tmp_path / "folder.tsv").mkdir()
    text = b"".join(b"%d\tline %d\n" % (number, number * 7919 % 997) for number in range(500))
    contents = {"one.en": b"a\nb\n", "two.de": b"a\nb\nc\n", "none.de": b""}
    cases = [(("one.en", "two.de"), r"two\.de:3: this line has no partner: .* 3 lines, .* 2;"),
             (("one.en", "none.de"), r"one\.en:1: this line has no partner: .* 2 lines, .* 0;"),
             (("missing.tsv",), r"missing\.tsv: there is no such file"),
             (("folder.tsv",), r"folder\.tsv: is a folder"),
             (("text.zip",), r"text\.zip: unpack it first|no such file")]  # fmt: skip
    for suffix, compress in list(COMPRESS.items())[1:]:
        whole = compress(text)
        damaged = {"half": whole[: len(whole) // 2], "empty": b"", "end": whole[:-1], "garbage": whole + b"garbage",
                   "second": whole + whole[:-9], "plain": text}  # fmt: skip
        for what, content in damaged.items():
            contents[f"{what}.tsv{suffix}"] = content
            cases.append(((f"{what}.tsv{suffix}",), rf"{what}\.tsv\{suffix}:\d+: the file is damaged or cut off here"))
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    held = 0
    for names, message in cases:
        for skip in (False, True):
            try:
                list(read_pairs([tmp_path / name for name in names], on_bad_line=(lambda _: None) if skip else None))
            except UserError as error:
                held += re.search(message, str(error)) is not None
    measured("T7", "whole files that cannot be trusted: refused by stop and by skip", held=held, of=2 * len(cases))


# --- bombs ---

READER = """
import json, sys, time
from pathlib import Path
from limelight.errors import TextWarning, UserError
from limelight.formats import read_pairs
from limelight.text import SkipReport

def most_memory():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024

folder, corpora = Path(sys.argv[1]), json.loads(sys.argv[2])
list(read_pairs([folder / "one.tsv"]))
before, endings = most_memory(), []
for names in corpora:
    for policy in (None, lambda line: None):
        began = time.perf_counter()
        try:
            list(read_pairs([folder / name for name in names], on_bad_line=policy))
            endings.append([0, "read"])
        except UserError as error:
            endings.append([time.perf_counter() - began, str(error)])
with SkipReport(folder / "skipped.txt", lambda line: None) as report:
    list(read_pairs([folder / "rubbish.tsv"], on_bad_line=report.add))
print(json.dumps([endings, report.total, most_memory() - before]))
"""


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
    command = [sys.executable, "-c", READER, str(tmp_path), json.dumps(corpora)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    endings, skipped, megabytes = json.loads(ended.stdout)
    endless, uncounted = "no line end within 100,000,000 bytes", r"more than [\d,]+ lines"
    words = [endless, endless, endless, endless, uncounted, uncounted] * (len(corpora) // 3)
    told = [seconds < 30 and re.search(rf"\.(tsv|de)[.\w]*:\d: .*{expected}", message) is not None
            for expected, (seconds, message) in zip(words, endings, strict=True)]  # fmt: skip
    slowest = max(seconds for seconds, _ in endings)
    measured("T7", "10 GiB in at most 10 MB, one line or lines without partners: refused at file:line", held=sum(told),
             of=len(told), note=f"at most {slowest:.1f} s each")  # fmt: skip
    measured("T7", "memory for all of these and for a corpus of bad lines: less than 32 MiB more", held=megabytes < 32,
             of=1, note=f"{megabytes:.1f} MiB; {skipped:,} bad lines")  # fmt: skip
    assert skipped == rubbish
    assert (tmp_path / "skipped.txt").read_bytes().count(b"\n") == min(rubbish, 1_000_000)
