"""`limelight translate` over many files and by several processes, with a real model: the text of one process."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from limelight.cli import translate as many
from limelight.cli.models import Machine
from tests.cli.conftest import Limelight
from tests.cli.corpora import words, write_lines


@pytest.fixture
def folder(tmp_path: Path, seed: int) -> Path:
    given = tmp_path / "in"
    (given / "deep").mkdir(parents=True)
    write_lines(given / "a.en", words(30, seed))
    write_lines(given / "deep" / "b.en", ["", *words(11, seed + 1), "語"])
    return given


def test_many_files_have_the_text_of_one_process(limelight: Limelight, one: Path, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ended = limelight("translate", "--model", one, "--workers", 2, folder, "-o", out)
    assert ended.code == 0, ended.err
    assert "2 files, 43 lines read = 43 written + 0 skipped" in ended.err
    for name in ("a.en", "deep/b.en"):
        assert (out / name).read_text() == limelight("translate", "--model", one, folder / name).out
    made_of = json.loads((out / ".shards" / "a.en.json").read_text())["made_of"]
    assert len(made_of["models"]["1"]["model.safetensors"]) == 64  # by its SHA-256
    assert "finished before" in limelight("translate", "--model", one, "--workers", 1, folder, "-o", out).err
    ended = limelight("translate", "--model", one, "--workers", 2, "--beam", 1, folder, "-o", out)
    assert ended.code == 2
    assert "made with other settings: options.beam_size is None there, 1 here" in ended.err


def test_files_of_which_nothing_is_translated_are_a_failure(limelight: Limelight, one: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "the dog"}\n')
    ended = limelight("translate", "--model", one, "--field", "other", tmp_path / "a.jsonl", "-o", tmp_path / "out")
    assert ended.code == 1
    assert "no line was translated" in ended.err


def test_a_long_file_is_translated_by_processes(
    limelight: Limelight, one: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(many, "ENOUGH", 25)
    monkeypatch.setattr(many, "_cores", lambda: 2)
    monkeypatch.setattr(many, "_gpus", lambda device: 0)
    started = []
    starter = many._starter
    monkeypatch.setattr(many, "_starter", lambda *given: started.append(given[2]) or starter(*given))
    given = ["translate", "--model", one, "--n-best", 2, folder / "a.en"]
    alone = limelight(*given, "--workers", 1)
    assert (alone.code, started) == (0, [])
    assert limelight(*given) == alone
    assert started == [2]
    assert limelight("translate", "--model", one, folder / "deep" / "b.en").code == 0
    assert started == [2]  # it is too short


@pytest.mark.parametrize(("device", "workers"), [("cpu", 8), ("cuda:1", 1), ("mps", 1)])
def test_a_single_gpu_has_a_single_worker(device: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "_cores", lambda: 8)
    job: dict[str, Any] = {"machine": Machine(device=device, threads=None), "models": ([], []), "plain": dict}
    job |= dict.fromkeys(("workers", "translation_memory", "glossary", "precision", "shortlist", "form"))
    assert many._settings(cast(Any, SimpleNamespace(**job)))[0] == workers
