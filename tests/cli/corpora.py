"""A model of two directions that reads words backwards, and words for it: small, and its translations have ends."""

import random
from pathlib import Path

from limelight.config import (
    BatchingConfig,
    Corpus,
    DataConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
    TransformerConfig,
)
from limelight.training.run import train


def words(count: int, seed: int, letters: str = "abcde", most: int = 4) -> list[str]:
    generator = random.Random(seed)
    return ["".join(generator.choices(letters, k=generator.randint(1, most))) for _ in range(count)]


def write_pairs(path: Path, sources: list[str]) -> Path:
    """Words and the same backwards, in capitals."""
    lines = (f"{word}\t{word[::-1].upper()}\n" for word in sources)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_lines(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def reversing_run(folder: Path, *, both: bool) -> Path:
    """Translates en-de, and with `both` de-en."""
    file = write_pairs(folder / "train.tsv", words(2000, seed=5))
    config = RunConfig(
        data=DataConfig(
            train=(Corpus(files=(str(file),), source="en", target="de"),),
            both_directions=both,
            drop_duplicates=False,
        ),
        tokens=TokensConfig(kind="characters"),
        batching=BatchingConfig(tokens=300),
        model=TransformerConfig(
            encoder_layers=1, decoder_layers=1, d_model=32, heads=2, d_ff=64, dropout=0.0, norm="pre"
        ),
        training=TrainingConfig(
            max_steps=120, schedule="constant", optimizer="muon", learning_rate=1e-2, warmup=20, average=1,
            device="cpu", precision="fp32",
        ),
    )  # fmt: skip
    train(config, folder / "run", quiet=True)
    return folder / "run"
