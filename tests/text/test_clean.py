"""Filters: each reason for itself, each pair counted once, and the report says where to look."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text.clean import REASONS, CleanReport, LeftOutList, clean
from limelight.text.pair import Pair

MILD = {"max_characters": 100, "max_length_ratio": 3.0, "drop_duplicates": True, "drop_identical": True}


def run(sides: list[tuple[str, str]], **changes: object) -> tuple[list[tuple[str, str]], CleanReport]:
    """Clean pairs with mild settings, changed by name."""
    settings = MILD | changes
    pairs = [Pair(source, target, "t.tsv", line) for line, (source, target) in enumerate(sides, start=1)]
    report = CleanReport()
    kept = [(pair.source, pair.target) for pair in clean(pairs, report, **settings)]  # type: ignore[arg-type]
    return kept, report


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (("", "b"), "empty"),
        (("a", " \u3000\t"), "empty"),
        (("a" * 101, "b" * 90), "too_long"),
        (("a" * 61, "b" * 20), "length_ratio"),
        (("same", "same "), "identical"),
        (("first", "erster"), "duplicate"),
    ],
)
def test_each_reason_drops_its_pair_and_names_its_place(bad: tuple[str, str], reason: str) -> None:
    kept, report = run([("first", "erster"), bad, ("second", "zweiter")])
    assert kept == [("first", "erster"), ("second", "zweiter")]
    assert report.dropped == {**dict.fromkeys(REASONS, 0), reason: 1}
    assert report.first_place == {reason: "t.tsv:2"}
    assert (report.total, report.kept) == (3, 2)


def test_characters_of_chinese_count_as_three() -> None:
    pair = (
        "我们的邻居认为保护环境是每个人的责任。",
        "Our neighbors believe that protecting the land is everybody's duty.",
    )
    assert run([pair])[0] == [pair]


def test_the_summary_reads_well() -> None:
    _, report = run([("first", "erster")] * 1234 + [("", "b"), ("", "c")])
    assert report.summary() == (
        "1 of 1,236 pairs kept\n"
        "  left out 2: one side is empty (first: t.tsv:1235)\n"
        "  left out 1,233: the pair was seen before (first: t.tsv:2)"
    )


SIDES = st.text(st.sampled_from("ab é\u3000"), max_size=40)


@given(st.lists(st.tuples(SIDES, SIDES), max_size=30), st.booleans(), st.booleans())
def test_pairs_in_are_pairs_kept_and_dropped(sides: list[tuple[str, str]], duplicates: bool, identical: bool) -> None:
    kept, report = run(sides, drop_duplicates=duplicates, drop_identical=identical, max_characters=30)
    assert report.total == len(sides)
    assert report.kept == len(kept) == report.total - sum(report.dropped.values())
    assert set(report.first_place) == {reason for reason, count in report.dropped.items() if count}
    remaining = iter(sides)
    assert all(pair in remaining for pair in kept), "order must stay"
    stripped = [(source.strip(), target.strip()) for source, target in kept]
    if duplicates:
        assert len(set(stripped)) == len(stripped)
    if identical:
        assert all(source != target for source, target in stripped)


def test_pairs_that_are_left_out_are_listed_with_place_reason_and_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LeftOutList, "limit", 3)
    with LeftOutList(tmp_path / "run" / "left-out.tsv") as left_out:
        report = CleanReport(on_left_out=left_out.add)
        sides = [("a", ""), ("one", "eins"), ("two\twords\n", "two words"), ("b" * 700, "c"), ("d", ""), ("e", "")]
        pairs = [Pair(*each, "t.tsv", line) for line, each in enumerate(sides, start=1)]
        assert len(list(clean(pairs, report, **MILD | {"drop_identical": False}))) == 2  # type: ignore[arg-type]
    rows = [line.split("\t") for line in (tmp_path / "run/left-out.tsv").read_text("utf-8").splitlines()]
    assert rows == [
        ["t.tsv", "1", "one side is empty", "a", ""],
        ["t.tsv", "4", "a side is too long", "b" * 500, "c"],
        ["t.tsv", "5", "one side is empty", "d", ""],
    ]
    assert left_out.summary() == f"  the first 3 of the 4 are in {tmp_path / 'run/left-out.tsv'}"
