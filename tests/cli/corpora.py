"""Models of two directions: one reads words backwards, and words for it, one connects three languages. They are small,
and their translations have ends.
"""

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


def connecting_run(folder: Path, *, steps: int) -> Path:
    """Translates de-en, which reads words backwards, and en-fr, which writes them in capitals: not de-fr."""
    known = words(3000, seed=5)
    backwards, capitals = folder / "de-en.tsv", folder / "en-fr.tsv"
    backwards.write_text("".join(f"{word}\t{word[::-1]}\n" for word in known), encoding="utf-8")
    capitals.write_text("".join(f"{word}\t{word.upper()}\n" for word in known), encoding="utf-8")
    config = RunConfig(
        data=DataConfig(
            train=(
                Corpus(files=(str(backwards),), source="de", target="en"),
                Corpus(files=(str(capitals),), source="en", target="fr"),
            ),
            drop_identical=False,
            drop_duplicates=False,
        ),
        tokens=TokensConfig(kind="characters"),
        batching=BatchingConfig(tokens=300),
        model=TransformerConfig(
            encoder_layers=2, decoder_layers=2, d_model=48, heads=4, d_ff=96, dropout=0.0, norm="pre"
        ),
        training=TrainingConfig(
            max_steps=steps, schedule="cosine", optimizer="muon", learning_rate=5e-3, warmup=20, average=1,
            device="cpu", precision="fp32",
        ),
    )  # fmt: skip
    train(config, folder / "run", quiet=True)
    return folder / "run"
