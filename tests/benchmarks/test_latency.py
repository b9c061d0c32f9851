"""`benchmarks/latency.py`: medians of what is measured, and an environment for each cold start."""

import json
from pathlib import Path

import pytest

from benchmarks import latency


def test_every_figure_is_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        latency, "measure_warm", lambda calls, threads: {"greedy": (12.5, 11.0), "beam 5": (21.0, 20.0)}
    )
    monkeypatch.setattr(latency, "measure_cold", lambda rounds: dict.fromkeys(latency.COLD, 1.5))
    latency.main(calls=5, rounds=5, threads=1, results=tmp_path)
    stored = json.loads((tmp_path / "latency.json").read_text(encoding="utf-8"))
    assert stored["warm_milliseconds"]["greedy"] == {"wall": 12.5, "cpu": 11.0}
    assert stored["cold_seconds"] == dict.fromkeys(latency.COLD, 1.5)
    assert "12.5" in capsys.readouterr().out


def test_cold_starts_take_turns_each_in_its_own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    caches, paths = [], []

    def start(environment: dict[str, str]) -> str:
        caches.append(environment.get("NUMBA_CACHE_DIR"))
        first = environment.get("PYTHONPATH", "").split(":")[0]
        paths.append((Path(first) / "numba.py").is_file() if first else False)
        return ""

    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setattr(latency, "start", start)
    assert list(latency.measure_cold(2)) == list(latency.COLD)
    assert [cache is not None for cache in caches] == [False] + 2 * [False, True, False]
    assert len({cache for cache in caches if cache}) == 2
    assert paths == [False] + 2 * [False, False, True]
