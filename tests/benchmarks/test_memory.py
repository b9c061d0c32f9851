"""`benchmarks/memory.py`: what it takes for a peak, for a growth, and for too much."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import memory

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not tell its peaks so")
def test_a_peak_is_seen_after_it_is_over() -> None:
    """In a process of its own, as the benchmark measures: what the tests before it have left in this one would be used
    again, and nobody can say how much that is."""
    work = "lambda mib: len([b'1' * (mib * 2**20), b'2' * (mib * 2**20)])"
    program = f"from benchmarks import memory; print(memory.measure(lambda: {work}, 150))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert 290 < float(found.stdout) < 320


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
