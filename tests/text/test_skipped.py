"""The report of lines that were left out: few are said, all are counted and can be found."""

from pathlib import Path

from limelight.formats import read_pairs
from limelight.text.clean import NAMED, SkipReport
from limelight.text.pair import BadLine


def test_few_are_said_and_all_are_counted_and_listed(tmp_path: Path) -> None:
    path, listing, said = tmp_path / "t.tsv", tmp_path / "data" / "skipped.txt", []
    lines = [b"\xff\tb" if number % 3 == 0 else b"no tab" if number % 3 == 1 else b"a\tb" for number in range(300)]
    path.write_bytes(b"\n".join(lines))
    with SkipReport(listing, said.append) as report:
        pairs = list(read_pairs([path], on_bad_line=report.add))
    assert len(pairs) + report.total == 300
    assert len(said) == NAMED
    assert said[1] == f"skipped {path}:2: there is no TAB in this line; a line is source TAB target"
    listed = listing.read_text(encoding="utf-8").splitlines()
    assert [line.split(":")[1] for line in listed] == [str(number + 1) for number in range(300) if number % 3 < 2]
    assert listed[0].startswith(
        f"{path}:1: not valid UTF-8 (byte 0xff at byte 1 of the line); convert the file to UTF-8"
    )
    assert report.summary().splitlines() == [
        f"skipped 200 lines that cannot be read; each of them in {listing}",
        f"  skipped 100: not valid UTF-8 (first: {path}:1)",
        f"  skipped 100: there is no TAB in this line (first: {path}:2)",
    ]


def test_segments_that_are_not_used_are_counted_apart_and_not_said(tmp_path: Path) -> None:
    listing, said = tmp_path / "skipped.txt", []
    with SkipReport(listing, said.append) as report:
        for number in range(1, 4):
            report.add(BadLine("a.po", number, "fuzzy (segment 7)", unused=True))
        assert report.summary().splitlines() == [
            f"3 segments are not used; each of them in {listing}", "  not used 3: fuzzy (first: a.po:1)"
        ]  # fmt: skip
        report.add(BadLine("a.po", 9, "fuzzy"))
    assert said == ["skipped a.po:9: fuzzy"]
    assert report.summary().splitlines() == [
        f"skipped 1 line that cannot be read; each of them in {listing}",
        "  skipped 1: fuzzy (first: a.po:9)",
        "3 segments are not used",
        "  not used 3: fuzzy (first: a.po:1)",
    ]
    assert listing.read_text().count("\n") == 4
