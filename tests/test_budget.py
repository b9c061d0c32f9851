"""The budgets of size hold, and their check fails in both directions, for a new package and for a missing one."""

import json

from tests.budget import BUDGETS, count, faults, lowered, tokens_of

DAY = {"src": {"budget": 1000}, "src/text": {"budget": 1000, "aim": 800}}


def test_the_budgets_hold() -> None:
    assert faults(count(), json.loads(BUDGETS.read_text(encoding="utf-8"))) == []


def test_code_is_counted_without_comments_docstrings_and_layout() -> None:
    code = '"""A module."""\n\ndef f(\n    a,  # why\n):\n    """What."""\n    return f"{a!r} {a}" + "b"\n'
    assert tokens_of(code) == tokens_of('def f(a,): return f"{a}"+"b"') == 11


def test_growth_fails_and_so_do_a_budget_that_is_too_high_and_one_that_is_missing() -> None:
    assert faults({"src": 1000, "src/text": 985}, DAY) == []
    for counts, says in (
        ({"src": 1001, "src/text": 1000}, "exceed"),
        ({"src": 970, "src/text": 1000}, "too high"),
        ({"src": 1000}, "too high"),
        ({"src": 1000, "src/text": 1000, "src/attic": 5}, "no budget"),
    ):
        (complaint,) = faults(counts, DAY)
        assert says in complaint


def test_budgets_are_lowered_and_raised_by_name_alone() -> None:
    counts = {"src": 1200, "src/text": 900, "src/attic": 300}
    assert lowered(counts, DAY, []) == {"src": {"budget": 1000}, "src/text": {"budget": 900, "aim": 800}}
    raised = lowered(counts, DAY, ["src", "src/attic"])
    assert [row["budget"] for row in raised.values()] == [1200, 300, 900]
    assert lowered({"src": 1000}, DAY, []) == {"src": {"budget": 1000}}
