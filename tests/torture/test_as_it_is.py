"""What `make test` does in a shorter form, as it is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.test_lessons import NOTEBOOKS, answers, faults, printed
from tests.training.helpers import write_pairs

pytestmark = pytest.mark.usefixtures("in_full_only")


def test_the_launcher_of_torch_starts_processes_that_train(tmp_path: Path) -> None:
    text, launcher = write_pairs(tmp_path / "train.tsv", 61), ["torch.distributed.run", "--standalone"]
    for name, start in {"one": [], "two": ["-m", *launcher, "--nproc-per-node", "2"]}.items():
        words = ["--train", text, "--source", "en", "--target", "de", "--recipe", "tiny", "--out", str(tmp_path / name)]
        settings = ["training.accumulate=2", "training.max_steps=6", "training.log_every=1", "batching.tokens=120"]
        words += [word for setting in settings for word in ("--set", setting)]
        subprocess.run([sys.executable, *start, "-m", "limelight", "train", *words, "-q"], check=True)
    one, two = (
        [line["loss"] for line in map(json.loads, (tmp_path / name / "log.jsonl").read_text().splitlines())
         if line["event"] == "training"]
        for name in ("one", "two")
    )  # fmt: skip
    assert len(one) == 6
    assert two == pytest.approx(one, rel=1e-2)


def test_the_models_of_a_lesson_learn_what_it_says() -> None:
    path = NOTEBOOKS[0]
    assert "updates: int = 300" in path.read_text(encoding="utf-8")
    assert faults(answers("1"), printed(path)) == []
