"""Runs on plain text, small enough to be done in a second, with everything random switched on."""

import random
from pathlib import Path
from typing import Any

from limelight.config import (
    BatchingConfig,
    DataConfig,
    DecoderOnlyConfig,
    ModelConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
)

ATTENTIVE = DecoderOnlyConfig(
    layers=1, d_model=8, heads=2, d_ff=12, dropout=0.2, norm="pre", positions="learned", max_positions=11
)
WORDS = ("night", "day", "sun", "moon", "the", "and", "of", "rises", "sets", "over")


def write_text(path: Path, words: int, seed: int = 1) -> str:
    """So many words in lines of six, drawn from ten."""
    chance = random.Random(seed)
    drawn = [chance.choice(WORDS) for _ in range(words)]
    lines = [" ".join(drawn[first : first + 6]) for first in range(0, words, 6)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def text_run(folder: Path, model: ModelConfig = ATTENTIVE, **training: Any) -> RunConfig:
    """Twelve updates of characters; dropout, accumulation and clipping on; more than one epoch."""
    folder.mkdir(exist_ok=True)
    settings = {
        "max_steps": 12, "learning_rate": 5e-3, "warmup": 4, "accumulate": 2, "validate_every": 4,
        "checkpoint_every": 3, "keep_checkpoints": 2, "bleu_sentences": 0, "best_by": "loss", "patience": 100,
        "average": 2, "log_every": 1, "precision": "fp32", "device": "cpu", "label_smoothing": 0.0,
    }  # fmt: skip
    return RunConfig(
        recipe="tiny text",
        data=DataConfig(text=(write_text(folder / "text.txt", 180),)),
        tokens=TokensConfig(kind="characters"),
        batching=BatchingConfig(tokens=55, block=11),
        model=model,
        training=TrainingConfig(**{**settings, **training}),
    )
