"""Runs of encoders alone, trained once through the command line itself."""

from pathlib import Path

from limelight.cli.app import run

SIZES = "model.layers=1 model.d_model=16 model.heads=2 model.d_ff=20 tokens.vocabulary_size=null batching.tokens=600"
FAST = "training.warmup=5 training.learning_rate=0.01 training.validate_every=20 training.device=cpu"


def train_reader(recipe: str, text: list[object], out: Path, *, steps: int = 40) -> Path:
    """A run of that recipe, made small."""
    given = [word for setting in f"{SIZES} {FAST}".split() for word in ("--set", setting)]
    words = ["train", *map(str, text), "--recipe", recipe, *given, "--max-steps", str(steps), "--out", str(out)]
    assert run([*words, "--quiet"]) == 0
    return out
