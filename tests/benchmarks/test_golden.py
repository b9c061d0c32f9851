"""The comparison of translations before and after a change finds what differs, and nothing else."""

import json
from pathlib import Path

import pytest

from benchmarks import golden
from tests.pipelines.test_paragraph import translator


def test_what_changes_is_found(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "SETTINGS", {"greedy": {"beam_size": 1}, "n-best": {"n_best": 2}})
    monkeypatch.setattr(golden, "texts", lambda: ["Cab bed. Face age!", "Bad egg", ""])
    one, file = translator(), tmp_path / "kept" / "golden.json"
    assert golden.compare(one, file) == []
    assert golden.compare(one, file) == []
    recorded = json.loads(file.read_text(encoding="utf-8"))
    recorded["n-best"][1]["alternatives"][0][1] -= 0.1
    recorded["greedy"][0]["score"] *= 1 + 1e-7  # another order of additions
    recorded["greedy"][2]["warnings"] = ["loop"]
    file.write_text(json.dumps(recorded), encoding="utf-8")
    assert [line.split(":")[0] for line in golden.compare(one, file)] == ["greedy", "n-best"]


def test_there_are_a_hundred_texts_of_every_kind() -> None:
    assert len(golden.texts()) > 100
    assert {"", "DO NOT OPEN THE WINDOW", "Cancel"} <= {*golden.texts()}
