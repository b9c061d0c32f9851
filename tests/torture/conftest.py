"""The promises about runs and the service, each put to the test by a fault that is really injected.

`make torture` (`--torture`) runs every check with its full figures and writes what was counted to
`benchmarks/results/torture.md`, where the rows of checks that were not run stay.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.common import describe_machine

TABLE = Path(__file__).parents[2] / "benchmarks" / "results" / "torture.md"
HEAD = ["| check | what was tried | held | of | seconds | | processor |", "|---|---|---:|---:|---:|---|---|"]

Measured = Callable[..., None]
"""Called with the check (`T5`), what was tried in words, how often it held and of how many times."""


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether the full figures are asked for."""
    return bool(request.config.getoption("--torture"))


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Iterator[Measured]:
    """Write down a figure: `measured("T5", "truncations detected", held=100, of=100)`; a row of the table."""
    figures: list[tuple[str, str, str]] = []

    def write(check: str, what: str, *, held: int, of: int, note: str = "") -> None:
        figures.append((f"| {check} | {what} |", f" {held:,} | {of:,} |", note))
        assert held == of, f"{check}: {what}: {held} of {of}"

    yield write
    request.node.user_properties.append(("figures", figures))
    assert figures, "this check has written no figure down"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The table, whose rows are known by check and by what was tried; a figure that fell short is in it, too."""
    if not config.getoption("--torture"):
        return
    rows = TABLE.read_text(encoding="utf-8").splitlines()[2:]
    table = {" ".join(row.split(" | ")[:2]): row for row in rows}
    processor = describe_machine()["processor"]
    seconds = {report.nodeid: report.duration for report in terminalreporter.stats.get("passed", ())}
    for report in terminalreporter.stats.get("", ()):  # what a test tells at its end comes with its teardown
        for key, counted, note in dict(report.user_properties).get("figures", ()):
            row = f"{key}{counted} {seconds.get(report.nodeid, 0):,.0f} | {note} | {processor} |"
            table[" ".join(row.split(" | ")[:2])] = row
            terminalreporter.write_line(row)
    TABLE.write_text("\n".join([*HEAD, *sorted(table.values())]) + "\n", encoding="utf-8")
