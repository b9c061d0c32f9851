"""One model learns two directions from the same sources, and the tag alone says which one is wanted."""

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
from limelight.pipelines.load import load_translator
from limelight.training.run import train

LETTERS = "abcde"


def words(count: int, seed: int) -> list[str]:
    generator = random.Random(seed)
    return ["".join(generator.choices(LETTERS, k=generator.randint(1, 3))) for _ in range(count)]


def write(path: Path, sources: list[str], *, reverse: bool) -> str:
    lines = (f"{word}\t{word[::-1] if reverse else word}\n" for word in sources)
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def corpora(folder: Path, name: str, sources: list[str]) -> tuple[Corpus, ...]:
    """To `same` a word stays as it is, to `back` it is read backwards."""
    return (
        Corpus(files=(write(folder / f"{name}.same.tsv", sources, reverse=False),), source="word", target="same"),
        Corpus(files=(write(folder / f"{name}.back.tsv", sources, reverse=True),), source="word", target="back"),
    )


def test_both_directions_are_learned(tmp_path: Path, seed: int) -> None:
    config = RunConfig(
        data=DataConfig(
            train=corpora(tmp_path, "train", words(3000, seed)),
            valid=corpora(tmp_path, "valid", words(50, seed + 1)),
            drop_identical=False,
            drop_duplicates=False,
        ),
        tokens=TokensConfig(kind="characters"),
        batching=BatchingConfig(tokens=300),
        model=TransformerConfig(
            encoder_layers=2, decoder_layers=2, d_model=48, heads=4, d_ff=96, dropout=0.0, norm="pre"
        ),
        training=TrainingConfig(
            seed=seed % 1000, max_steps=400, schedule="cosine", optimizer="muon", learning_rate=5e-3, warmup=20,
            bleu_sentences=20, average=1, device="cpu", precision="fp32",
        ),
    )  # fmt: skip
    train(config, tmp_path / "run", quiet=True)
    translator = load_translator(tmp_path / "run")
    unseen = words(300, seed + 2)
    for language, expected in (("same", unseen), ("back", [word[::-1] for word in unseen])):
        outputs = translator.translate(unseen, target_lang=language, beam_size=1, guards=False)
        right = sum(output.text == word for output, word in zip(outputs, expected, strict=True))
        print(f"{language}: {right} of {len(unseen)}")
        assert right >= 0.98 * len(unseen)
