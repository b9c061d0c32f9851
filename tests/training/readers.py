"""Runs of encoders alone, small enough to be done in a second, with everything random switched on."""

from pathlib import Path
from typing import Any

from limelight.config import (
    BatchingConfig,
    Corpus,
    DataConfig,
    EncoderOnlyConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
)
from tests.training.texts import text_run, write_text

READING = EncoderOnlyConfig(layers=1, d_model=8, heads=2, d_ff=12, dropout=0.2, norm="pre")
LABELS = ("day", "night")


def masked_run(folder: Path, model: EncoderOnlyConfig = READING, **training: Any) -> RunConfig:
    """Words behind masks."""
    config = text_run(folder, model, **training)
    write_text(folder / "text.txt", 240)
    return config.model_copy(
        update={"tokens": TokensConfig(byte_fallback=False), "batching": BatchingConfig(tokens=70, chunk_pairs=17)}
    )


def write_labels(path: Path, count: int, first: int = 0) -> str:
    """Texts with the label `day` where there is a sun in them, else `night`."""
    lines = []
    for number in range(first, first + count):
        words = [("moon", "star", "owl", "sun")[(number * factor) // 3 % 4] for factor in range(1, 3 + number % 4)]
        lines.append(f"{' '.join(words)} {number % 13}\t{LABELS['sun' not in words]}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def label_run(folder: Path, model: EncoderOnlyConfig = READING, **training: Any) -> RunConfig:
    """Twelve updates; dropout, accumulation and clipping on; more than one epoch."""
    folder.mkdir(exist_ok=True)
    settings = {
        "max_steps": 12, "learning_rate": 5e-3, "warmup": 4, "accumulate": 2, "validate_every": 4,
        "checkpoint_every": 3, "keep_checkpoints": 2, "best_by": "macro_f1", "patience": 100, "average": 2,
        "log_every": 1, "precision": "fp32", "device": "cpu",
    }  # fmt: skip
    return RunConfig(
        recipe="tiny labels",
        data=DataConfig(
            train=(Corpus(files=(write_labels(folder / "train.tsv", 67),)),),
            valid=(Corpus(files=(write_labels(folder / "valid.tsv", 11, first=500),)),),
        ),
        tokens=TokensConfig(vocabulary_size=70, byte_fallback=False),
        batching=BatchingConfig(tokens=90, chunk_pairs=23),
        model=model,
        training=TrainingConfig(**{**settings, **training}),
    )
