"""The promises about runs, each put to the test by a fault that is really injected.

`make test` runs every check in a short form; `make torture` (`--torture`) runs it with its full figures and writes what
was counted to `benchmarks/results/torture.json` and `torture.md`.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.machine import describe_machine

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"

Measured = Callable[..., None]
"""Called with the check (`T5`), what was tried in words, how often it held and of how many times."""


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the full figures are asked for."""
    return bool(request.config.getoption("--torture"))


@pytest.fixture
def in_full_only(full: bool) -> None:
    """For what is measured in seconds: a machine that is busy with other things would fail it."""
    if not full:
        pytest.skip("only with --torture: seconds are measured")


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Iterator[Measured]:
    """Write down a figure: `measured("T5", "truncations detected", held=100, of=100)`; a row of the table."""

    def write(check: str, what: str, *, held: int, of: int, note: str = "") -> None:
        row = {"check": check, "what": what, "held": held, "of": of, "note": note}
        request.node.user_properties.append(("torture", row))
        assert held == of, f"{check}: {what}: {held} of {of}"

    yield write
    assert any(name == "torture" for name, _ in request.node.user_properties), "this check has written no figure down"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What was counted, as a table; kept where the full figures were asked for."""
    if not config.getoption("--torture"):
        return
    rows = sorted(_rows(terminalreporter.stats), key=lambda row: (int(row["check"][1:]), row["what"]))
    table = _table(rows)
    terminalreporter.write_line(table)
    RESULTS.mkdir(exist_ok=True)
    found = {"benchmark": "torture", "machine": describe_machine(), "rows": rows}
    (RESULTS / "torture.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "torture.md").write_text(table, encoding="utf-8")


def _rows(stats: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """A row for each figure, and one for each check that failed before it had any."""
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in stats.get(outcome, []):
            if "tests/torture/" not in report.nodeid:
                continue
            rows = [dict(row) for name, row in report.user_properties if name == "torture"]
            if outcome == "passed" and report.when == "call":
                yield from ({**row, "seconds": round(report.duration, 1)} for row in rows)
            elif outcome != "passed":
                check = report.nodeid.rpartition("/")[2]
                reason = str(report.longrepr).strip().splitlines()[-1][:200] if report.longrepr else ""
                yield {"check": "T0", "what": check, "held": 0, "of": 1, "note": f"{outcome}: {reason}", "seconds": 0.0}


def _table(rows: list[dict[str, Any]]) -> str:
    lines = ["| check | what was tried | held | of | seconds | |", "|---|---|---:|---:|---:|---|"]
    lines += ["| {check} | {what} | {held:,} | {of:,} | {seconds:,.0f} | {note} |".format(**row) for row in rows]
    return "\n".join(lines) + "\n"
