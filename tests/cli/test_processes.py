"""What only a process of its own can show: what it imports, its terminal, its signals, its streams."""

import importlib.util
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.forked import Forked

ROOT = Path(__file__).parents[2]
HEAVY = ("torch", "numpy", "limelight.config", "yaml", "sentencepiece", "tokenizers", "sacrebleu", "matplotlib")


OTHERS = tuple(
    f"limelight.{package}"
    for package in ("documents", "evaluation", "interop", "serving", "corpus.synthesis", "training")
)
"""Packages that neither help nor a translation has anything to do with."""


@pytest.fixture
def environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]))
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**inherited, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


WORDS = ([], ["--help"], ["train", "--help"], ["translate", "--beam", "0"], ["attention", "x", "--grid"],
         ["generate", "--help"], ["generate", "x", "--greedy", "--seed", "1"])  # fmt: skip


def test_help_and_slips_of_the_pen_wait_for_nothing_heavy(environment: dict[str, str]) -> None:
    code = (
        "import json, sys\nfrom limelight.cli.app import run\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    run(words)\n"
        f"    heavy = set({HEAVY}) & set(sys.modules) | {{name for name in sys.modules if name.startswith({OTHERS})}}\n"
        f"    print('imported', *sorted(heavy))"
    )
    command = [sys.executable, "-c", code, json.dumps(WORDS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    said = [line for line in done.stdout.splitlines() if line.startswith("imported")]
    assert said == ["imported"] * len(WORDS)


UNUSED = ("sacrebleu", "matplotlib", "transformers", "ctranslate2", "tensorboard", "limelight.config.recipes",
          "limelight.batching.store", "limelight.batching.stream", "limelight.text.augmentation",
          "limelight.pipelines.generator", "limelight.pipelines.encoders", "limelight.pipelines.encoders",
          "sympy", "torch._dynamo")  # fmt: skip
TRANSLATING = ("torch", "yaml", "sentencepiece", "limelight.pipelines.translator")


def test_a_translation_waits_for_nothing_it_does_not_need_and_looks_for_no_cycles(
    trained: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "in.txt").write_text("A dog runs.\n", encoding="utf-8")
    code = (
        "import gc, json, sys\nfrom limelight.cli.app import run\nturns = []\n"
        "gc.callbacks.append(lambda phase, info: turns.append(info['generation'] if 'torch' in sys.modules else 0))\n"
        "run(sys.argv[1:])\n"
        "print(json.dumps([sorted(sys.modules), gc.isenabled(), gc.get_freeze_count(), turns.count(2)]))"
    )
    command = [sys.executable, "-c", code, "translate", "--model", str(trained), str(tmp_path / "in.txt")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    modules, enabled, frozen, long_turns = json.loads(done.stdout.splitlines()[-1])
    assert set(UNUSED) & set(modules) == set()
    assert {name for name in modules if name.startswith(OTHERS)} == set()
    for name in UNUSED:  # each of them is a module that is there
        assert not name.startswith("limelight") or importlib.util.find_spec(name)
    assert set(TRANSLATING) <= set(modules)  # the names above are still those of what it does need
    assert enabled
    assert frozen > 100_000
    assert long_turns == 0


def test_a_person_at_the_terminal_gets_each_line_at_once_and_leaves_with_ctrl_c(
    trained: Path, environment: dict[str, str]
) -> None:
    theirs, ours = pty.openpty()
    command = [sys.executable, "-m", "limelight", "translate", "--model", str(trained), "--json", "--beam", "1"]
    with Forked(
        command, stdin=ours, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        impatience = threading.Timer(600, process.kill)  # a reader that waits for more lines would wait for ever
        impatience.start()
        try:
            assert process.stderr.readline() == "One sentence per line; Ctrl-D ends the input.\n"
            for line in ("A dog runs.", "", "Two birds sing."):
                os.write(theirs, f"{line}\n".encode())
                assert json.loads(process.stdout.readline())["source"] == line
            process.send_signal(signal.SIGINT)
            assert process.wait(600) == 130
            assert process.stderr.read() == "limelight: stopped by SIGINT\n"
            assert process.stdout.read() == ""
        finally:
            impatience.cancel()
            process.kill()
            os.close(theirs)
            os.close(ours)


def test_a_live_pipe_is_answered_when_it_pauses(trained: Path, environment: dict[str, str]) -> None:
    """A program writes a line, waits for its translation, and writes others."""
    command = [sys.executable, "-m", "limelight", "translate", "--model", str(trained), "--json", "--beam", "1"]
    with Forked(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        impatience = threading.Timer(600, process.kill)
        impatience.start()
        try:
            for lines in (["A dog runs."], [""], ["Two birds sing.", "An old fox sleeps."]):
                process.stdin.write("".join(f"{line}\n" for line in lines))
                process.stdin.flush()
                assert [json.loads(process.stdout.readline())["source"] for _ in lines] == lines
            process.stdin.close()
            assert process.stdout.read() == ""
            assert process.wait(600) == 0
        finally:
            impatience.cancel()
            process.kill()


def test_a_reader_who_leaves_and_an_environment_without_utf8(
    trained: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Half of the lines are read (`| head`), from a process whose streams are ASCII by its environment."""
    (tmp_path / "in.txt").write_text("Ein Hündchen läuft.\n" * 200, encoding="utf-8")
    script = (
        f'"{sys.executable}" -m limelight translate --model "{trained}" --beam 1 --json < in.txt 2> errors | head -n 1;'
        " echo ${PIPESTATUS[0]}"
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**environment, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    line, code = done.stdout.splitlines()
    assert json.loads(line)["source"] == "Ein Hündchen läuft."
    assert code == "0"
    assert (tmp_path / "errors").read_text(encoding="utf-8") == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize("words", ["--help", "translate --model {trained} in.txt"])
def test_a_full_disk_behind_standard_output(
    words: str, trained: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    (tmp_path / "in.txt").write_text("A dog.\n", encoding="utf-8")
    command = [sys.executable, "-m", "limelight", *words.format(trained=trained).split()]
    with (
        open("/dev/full", "w", encoding="utf-8") as full,
        Forked(command, cwd=tmp_path, env=environment, stdout=full, stderr=subprocess.PIPE, text=True) as process,
    ):
        said = process.stderr.read()
        assert process.wait(600) == 1
    assert said == "limelight: standard output: cannot be written: no space left on device\n"
