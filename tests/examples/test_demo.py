"""The demo's script with a stand-in for `limelight` that writes down how it was called and answers in capitals."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.sh"
STAND_IN = """#!/usr/bin/env bash
echo "$@" >> "$CALLS"
verb=$1
while [ $# -gt 0 ]; do case $1 in -o|--out) out=$2 ;; --text) text=$2 ;; esac; shift; done
case $verb in
    train) mkdir "$out" ;;
    translate) if [ -n "${text:-}" ]; then echo "$text" | tr a-z A-Z; else tr a-z A-Z > "$out"; fi ;;
    attention) [ -z "${out:-}" ] || echo picture > "$out" ;;
esac
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> dict[str, str]:
    """An environment in which `limelight` is the stand-in."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "limelight").write_text(STAND_IN, encoding="utf-8")
    (programs / "limelight").chmod(0o755)
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {"PATH": path, "CALLS": str(tmp_path / "calls")}


def demo(folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(DEMO), str(folder), "0.3"]
    return subprocess.run(command, env=environment, cwd=folder.parent, capture_output=True, text=True, check=False)


def test_the_demo_goes_the_whole_path(tmp_path: Path, stand_in: dict[str, str]) -> None:
    folder = tmp_path / "demo"
    done = demo(folder, stand_in)
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    bundled, (train, evaluate, translate, show, draw) = calls[:6], calls[6:]
    assert [call.split("--text")[0] for call in bundled[:4]] == [
        f"translate --from {source} --to {target} "
        for source, target in (("en", "de"), ("en", "fr"), ("de", "en"), ("fr", "en"))
    ]
    assert (
        "   en  My sister drinks a cup of tea every evening.\n   de  MY SISTER DRINKS A CUP OF TEA EVERY EVENING.\n"
        in done.stdout
    )
    assert bundled[5] == f"{bundled[4]} -o {folder}/bundled.png"
    assert all("--model" not in call for call in bundled)
    assert train == (
        f"train --train {folder}/corpus/train.tsv --valid {folder}/corpus/valid.tsv --source en --target lumi "
        f"--recipe demo --max-minutes 0.3 --out {folder}/model"
    )
    assert evaluate == f"evaluate --model {folder}/model --test {folder}/corpus/test.tsv"
    assert translate == f"translate --model {folder}/model -o {folder}/translations.txt"
    assert draw == f"{show} -o {folder}/attention.png"
    source, reference = (folder / "corpus" / "test.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    assert f"   source    {source}\n   reference {reference}\n   Limelight {source.upper()}\n" in done.stdout
    assert show == f"attention --model {folder}/model {source}"


def test_a_second_demo_starts_afresh(tmp_path: Path, stand_in: dict[str, str]) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "mine.txt").write_text("kept", encoding="utf-8")
    for _ in range(2):  # the stand-in fails where the model folder is still there
        assert demo(folder, stand_in).returncode == 0
    assert (folder / "mine.txt").read_text(encoding="utf-8") == "kept"


def test_the_demo_stops_where_something_fails(tmp_path: Path, stand_in: dict[str, str]) -> None:
    (tmp_path / "bin" / "limelight").write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
    done = demo(tmp_path / "demo", stand_in)
    assert done.returncode == 7
    assert "Quality" not in done.stdout
