"""The same seed gives the same run: in another process, with other hashes, whatever was done before."""

import os
import subprocess
import sys
from pathlib import Path

from limelight.config import RunConfig, TransformerConfig, dump_config
from tests.torture.conftest import Measured
from tests.torture.processes import differences
from tests.training.helpers import go, tiny_run, with_training

ROOT = Path(__file__).parents[2]
WIDE = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=128, heads=4, d_ff=512, dropout=0.2)
"""Wide enough that torch divides the work of a batch among its threads."""


def train_alone(config: RunConfig, folder: Path, hash_seed: int) -> Path:
    """Train with the command line, in a fresh interpreter whose sets and dictionaries hash in their own way."""
    folder.with_suffix(".yaml").write_text(dump_config(config), encoding="utf-8")
    command = ["train", "--config", str(folder.with_suffix(".yaml")), "--out", str(folder), "-q"]
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    subprocess.run([sys.executable, "-m", "limelight", *command], cwd=ROOT, env=environment, check=True, timeout=600)
    return folder


def test_the_same_seed_is_the_same_run(full: bool, measured: Measured, tmp_path: Path) -> None:
    config = tiny_run(tmp_path / "text", WIDE, max_steps=6)
    config = config.model_copy(update={"batching": config.batching.model_copy(update={"tokens": 900})})
    for threads in (1, 2) if full else (1,):
        one = with_training(config, threads=threads)
        first = tmp_path / f"{threads}-here"
        go(one, first)  # this process has hashes of its own
        others = [train_alone(one, tmp_path / f"{threads}-{number}", number) for number in range(1, 4 if full else 2)]
        found = [sorted(differences(other, first)) for other in others]
        print(f"threads={threads}; different: {found}")
        what = f"the same seed again in a new process, threads={threads}: the same run to the last bit"
        note = "each process with other hashes (PYTHONHASHSEED)"
        measured("T9", what, held=found.count([]), of=len(found), note=note)
