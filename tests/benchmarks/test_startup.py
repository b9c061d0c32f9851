"""`benchmarks/startup.py`: medians of turns, and a reason where there is no figure."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import startup


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_peers_that_fail_leave_their_reason_and_the_others_their_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {"limelight --help": python("pass"), "limelight: first translation": python("input()")}
    peers = {"slow": python("import time; time.sleep(0.3)"), "broken": python("raise SystemExit('no such module')")}
    monkeypatch.setattr(startup, "_own", lambda model: own)
    monkeypatch.setattr(startup, "_peers", lambda model, folder: (dict(peers), {"other": "cannot be exported"}))
    startup.main(model=tmp_path, rounds=2, results=tmp_path)
    stored = json.loads((tmp_path / "startup.json").read_text(encoding="utf-8"))
    assert list(stored["seconds"]) == [*own, "slow"]
    assert stored["missing"] == {"other": "cannot be exported", "broken": "no such module"}
    assert 0.3 <= stored["seconds"]["slow"] < 30
    printed = capsys.readouterr().out
    assert printed.startswith(stored["table"])
    assert "broken: no such module" in printed


def test_a_model_that_cannot_be_exported_is_told_of(tmp_path: Path) -> None:
    ways, missing = startup._peers(tmp_path / "none", tmp_path)
    assert ways == {}
    assert len(missing) == 2
    assert all("there is no such model" in reason for reason in missing.values())
