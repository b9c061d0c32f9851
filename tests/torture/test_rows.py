"""The table of the full figures keeps the rows of checks that were not run."""

from typing import Any

from tests.torture.conftest import merged


def row(test: str, what: str, held: int) -> dict[str, Any]:
    return {"check": "T1", "what": what, "held": held, "test": test}


def test_a_check_that_runs_alone_replaces_its_own_rows() -> None:
    former = [row("a", "kills", 1), row("a", "signals", 1), row("b", "kills of b", 1), row("", "of an old table", 1)]
    new = [row("a", "kills", 2), row("c", "of an old table", 2)]
    assert merged(former, new) == [row("b", "kills of b", 1), *new]
