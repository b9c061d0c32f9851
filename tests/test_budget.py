"""The budgets of size hold, and their check fails in both directions, for a new package and for a missing one."""

import json
from pathlib import Path

import pytest

from tests.budget import BUDGETS, count, faults, lowered, tokens_of

DAY = {"src": {"budget": 1000}, "src/text": {"budget": 1000, "aim": 800}}


def test_the_budgets_hold() -> None:
    assert faults(count(), json.loads(BUDGETS.read_text(encoding="utf-8"))) == []


def test_code_is_counted_without_comments_docstrings_and_layout() -> None:
    code = '"""A module."""\n\ndef f(\n    a,  # why\n):\n    """What."""\n    return f"{a!r} {a}" + "b"\n'
    assert tokens_of(code) == tokens_of('def f(a,): return f"{a}"+"b"') == 11


@pytest.mark.parametrize(("tokens", "complaint"), [(1030, "exceed"), (1001, "exceed"), (970, "too high"), (985, "")])
def test_growth_fails_and_so_does_a_budget_that_is_too_high(tmp_path: Path, tokens: int, complaint: str) -> None:
    path = tmp_path / "src" / "limelight" / "text" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text("a\n" * tokens, encoding="utf-8")
    listed = faults(count(tmp_path), DAY)
    assert len(listed) == (2 if complaint else 0)
    assert all(complaint in line for line in listed)


def test_a_package_needs_a_budget_and_a_budget_a_package() -> None:
    assert "no budget" in faults({"src": 1000, "src/text": 1000, "src/attic": 5}, DAY)[0]
    assert "too high" in faults({"src": 1000}, DAY)[0]


def test_budgets_are_lowered_and_raised_by_name_alone() -> None:
    counts = {"src": 1200, "src/text": 900, "src/attic": 300}
    assert lowered(counts, DAY, []) == {"src": {"budget": 1000}, "src/text": {"budget": 900, "aim": 800}}
    raised = lowered(counts, DAY, ["src", "src/attic"])
    assert [row["budget"] for row in raised.values()] == [1200, 300, 900]
    assert lowered({"src": 1000}, DAY, []) == {"src": {"budget": 1000}}
