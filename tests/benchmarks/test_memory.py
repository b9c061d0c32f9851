"""`benchmarks/memory.py`: what it takes for a peak, for a growth, and for too much."""

import json
from pathlib import Path

import pytest

from benchmarks import memory


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not tell its peaks so")
def test_a_peak_is_seen_after_it_is_over() -> None:
    def prepare() -> memory.Callable[[int], object]:
        return lambda mib: len([b"1" * (mib * 2**20), b"2" * (mib * 2**20)])

    assert 260 < memory.measure(prepare, 150) < 320  # what the first time has left is used again


@pytest.mark.parametrize("what", memory.WORK)
def test_each_work_can_be_done(what: str) -> None:
    memory.WORK[what]()(24)


def test_growth_compares_each_length_with_its_half() -> None:
    assert memory.growth({512: 10.0, 1024: 25.0, 2048: None, 4096: 3.0}) == {"512 to 1024": 2.5}


def test_what_would_not_fit_is_left_out_and_the_rest_is_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_available", lambda: 100 * 2**20)
    monkeypatch.setattr(memory, "_in_a_process", lambda what, length: float(length))
    memory.main(longest=1024, rounds=1, results=tmp_path, alone="")
    stored = json.loads((tmp_path / "memory.json").read_text(encoding="utf-8"))
    assert stored["mib"]["training, 2 rows"] == {"512": 512.0, "1024": 1024.0}
    assert stored["mib"][memory.QUADRATIC[0]] == {"512": 512.0, "1024": None}
    assert "| training, 2 rows | 512 | 1,024 | 2 |" in capsys.readouterr().out
