"""How much of a text is done: at times in a log, and never where nobody wants to know."""

import pytest

from limelight.cli import output as module
from limelight.cli.output import TextProgress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the time is, in its only entry."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_the_first_line_after_half_a_minute_and_few_later(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with TextProgress() as progress:
        for second in range(0, 700, 10):
            clock[0] = 1000.0 + second
            progress.show("line", second, 1000, "50 tokens/s", seconds=float(second))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "line 40 of 1,000  50 tokens/s  0:16:00 left",
        "line 350 of 1,000  50 tokens/s  0:10:50 left",
        "line 660 of 1,000  50 tokens/s  0:05:40 left",
    ]


def test_quiet_is_quiet(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with TextProgress(quiet=True) as progress:
        progress.say("something")
        clock[0] += 1000
        progress.show("line", 1, 2, seconds=4.0)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_live_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(module.sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with TextProgress() as progress:
        progress.show("line", 0, 0)
        progress.show("line", 250, 1000, seconds=10.0)
    assert "line 250 of 1,000" in capsys.readouterr().err
