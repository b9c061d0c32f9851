"""The promises about runs, each put to the test by a fault that is really injected.

`make test` runs every check in a short form; `make torture` (`--torture`) runs it with its full figures and writes what
was counted to `benchmarks/results/torture.json` and `torture.md`, where the rows of checks that were not run stay.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks.common import describe_machine

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"

Row = dict[str, Any]
"""A row of the table."""

Measured = Callable[..., None]
"""Called with the check (`T5`), what was tried in words, how often it held and of how many times."""


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the full figures are asked for."""
    return bool(request.config.getoption("--torture"))


@pytest.hookimpl(tryfirst=True)  # before a selection by markers
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """What is only run in full measures seconds."""
    for item in items:
        if "in_full_only" in getattr(item, "fixturenames", ()):
            item.add_marker("timed")


@pytest.fixture
def in_full_only(full: bool) -> None:
    """For what takes long, or is measured in seconds: a machine that is busy with other things would fail it."""
    if not full:
        pytest.skip("only with --torture")


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
    rows = _sorted(_rows(terminalreporter.stats))
    terminalreporter.write_line(_table(rows))
    RESULTS.mkdir(exist_ok=True)
    file = RESULTS / "torture.json"
    former = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else []
    rows = _sorted(merged(former, rows))
    found = {"benchmark": "torture", "rows": rows}
    file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (RESULTS / "torture.md").write_text(_table(rows), encoding="utf-8")


def merged(former: Sequence[Row], rows: Sequence[Row]) -> list[Row]:
    """The rows of this run, and the former ones of tests that were not run now: checks are also run one by one."""
    tests, names = {row["test"] for row in rows}, {(row["check"], row["what"]) for row in rows}
    kept = [row for row in former if row["test"] not in tests and (row["check"], row["what"]) not in names]
    return [*kept, *rows]


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (int(row["check"][1:]), row["what"]))


def _rows(stats: dict[str, list[Any]]) -> Iterator[Row]:
    """A row for each figure, and one for each check that failed before it had any."""
    processor = describe_machine()["processor"]
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in stats.get(outcome, []):
            if "tests/torture/" not in report.nodeid:
                continue
            test = report.nodeid.rpartition("/")[2]
            rows = [dict(row) for name, row in report.user_properties if name == "torture"]
            common = {"test": test, "processor": processor}
            if outcome == "passed" and report.when == "call":
                yield from ({**row, **common, "seconds": round(report.duration, 1)} for row in rows)
            elif outcome != "passed":
                reason = str(report.longrepr).strip().splitlines()[-1][:200] if report.longrepr else ""
                failure = {"check": "T0", "what": test, "held": 0, "of": 1, "note": f"{outcome}: {reason}"}
                yield {**failure, **common, "seconds": 0.0}


def _table(rows: Sequence[Row]) -> str:
    lines = ["| check | what was tried | held | of | seconds | | processor |", "|---|---|---:|---:|---:|---|---|"]
    form = "| {check} | {what} | {held:,} | {of:,} | {seconds:,.0f} | {note} | {processor} |"
    lines += [form.format(**row) for row in rows]
    return "\n".join(lines) + "\n"
