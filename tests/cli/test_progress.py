"""How much of a text is done: at times in a log, and never where nobody wants to know."""

import pytest

from limelight import screen as module
from limelight.screen import Display


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the time is, in its only entry."""
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_a_log_gets_the_first_line_after_half_a_minute_and_few_later(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with Display() as display:
        for second in range(0, 700, 10):
            clock[0] = 1000.0 + second
            display.count("line", second, 1000, "50 tokens/s")
    assert capsys.readouterr().err.splitlines() == [
        "line 40 of 1,000  50 tokens/s  0:16:00 left",
        "line 350 of 1,000  50 tokens/s  0:10:50 left",
        "line 660 of 1,000  50 tokens/s  0:05:40 left",
    ]


def test_quiet_is_quiet(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Display(quiet=True) as display:
        display.say("something")
        clock[0] += 1000
        display.count("line", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_live_line(
    clock: list[float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with Display() as display:
        display.count("line", 0, 0)
        clock[0] += 2
        display.count("line", 250, 1000)
    assert "line 250 of 1,000" in capsys.readouterr().err


def test_each_document_has_its_own_time(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    begun = clock[0]
    with Display() as display:
        for unit, done, seconds in (("a", 0, 0), ("a", 1000, 3600), ("b", 0, 3600), ("b", 100, 4000)):
            clock[0] = begun + seconds
            display.count(unit, done, 1000)
    assert capsys.readouterr().err.splitlines()[-1] == "b 100 of 1,000  1:00:00 left"
