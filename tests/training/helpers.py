"""A run small enough to be done in a second, with everything random switched on."""

import json
from pathlib import Path
from typing import Any

from limelight.config import (
    BatchingConfig,
    Corpus,
    DataConfig,
    DecodingConfig,
    ModelConfig,
    RecurrentConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
    TransformerConfig,
)
from limelight.files import sha256
from limelight.training.checkpoints.checkpoint import CHECKPOINTS, Progress
from limelight.training.run import train

NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
ZAHLEN = ("eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf")

TRANSFORMER = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=12, dropout=0.2)
RECURRENT = RecurrentConfig(embedding=7, hidden=8, score_size=5, dropout=0.2)
MODELS: dict[str, ModelConfig] = {"transformer": TRANSFORMER, "recurrent": RECURRENT}


def write_pairs(path: Path, count: int, first: int = 0) -> str:
    """Numbers and their German words backwards, as .tsv; another `first` gives other pairs."""
    lines = []
    for number in range(first, first + count):
        digits = [(number * factor) // 7 % 11 for factor in range(3, 5 + number % 6)]
        source = " ".join(NUMBERS[digit] for digit in digits)
        lines.append(f"{source} {NUMBERS[number % 11]}\t{' '.join(ZAHLEN[digit] for digit in reversed(digits))}\n")
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def tiny_run(folder: Path, model: ModelConfig = TRANSFORMER, **training: Any) -> RunConfig:
    """Dropout, accumulation, subword sampling and clipping on; a fraction of an epoch between validations. Translations
    are cut short: a model that has learned nothing writes up to the bound."""
    folder.mkdir(exist_ok=True)
    settings = {
        "max_steps": 12, "learning_rate": 5e-3, "warmup": 4, "accumulate": 2, "validate_every": 4,
        "checkpoint_every": 3, "keep_checkpoints": 2, "bleu_sentences": 3, "patience": 100, "average": 2,
        "log_every": 1, "precision": "fp32", "device": "cpu",
    }  # fmt: skip
    return RunConfig(
        recipe="tiny test",
        data=DataConfig(
            train=(Corpus(files=(write_pairs(folder / "train.tsv", 61),), source="en", target="de"),),
            valid=(Corpus(files=(write_pairs(folder / "valid.tsv", 7, first=500),), source="en", target="de"),),
        ),
        tokens=TokensConfig(vocabulary_size=90, joint=True, sampling=0.2, byte_fallback=False),
        batching=BatchingConfig(tokens=90, chunk_pairs=23),
        model=model,
        training=TrainingConfig(**{**settings, **training}),
        decoding=DecodingConfig(max_length_factor=0.3, max_length_extra=2),
    )


def with_training(config: RunConfig, **changed: Any) -> RunConfig:
    """The same run with other settings of `training`."""
    return config.model_copy(update={"training": config.training.model_copy(update=changed)})


def go(config: RunConfig, folder: Path, **changed: Any) -> Progress:
    return train(with_training(config, **changed), folder, quiet=True)


def log_of(run: Path) -> list[dict[str, Any]]:
    """The lines of `log.jsonl`; a number that JSON does not have fails."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    text = (run / "log.jsonl").read_text(encoding="utf-8")
    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def trace_of(run: Path, *, ends: bool = False) -> list[tuple[Any, ...]]:
    """What must be the same to the last bit however often a run was interrupted: no times, and not what became the
    model, as a run that was killed may have had a better one. What was written at its end only if asked for: a run that
    reached a smaller bound first has had several."""
    left_out = ("seconds", "target_tokens_per_second", "chosen")
    return [
        tuple((name, value.hex() if isinstance(value, float) else value) for name, value in line.items()
              if name not in left_out)
        for line in log_of(run)
        if ends or line["event"] != "final"
    ]  # fmt: skip


def checkpoints_of(run: Path) -> list[Path]:
    return sorted((run / CHECKPOINTS).iterdir())


def last_weights(run: Path) -> str:
    """The SHA-256 of the weights that training would go on with."""
    return sha256(checkpoints_of(run)[-1] / "weights.safetensors")
