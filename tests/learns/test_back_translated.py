"""The tag of back-translated text is read: without it the model does what the human text has taught it."""

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
from limelight.pipelines.translator import Translator
from limelight.tokens import BACK_TRANSLATED, Tokenizers
from limelight.training.run import train
from tests.learns.test_directions import words, write


class Tagging:
    """A source tokenizer with the tag before every text, as training has it."""

    def __init__(self, tokenizer: object) -> None:
        self.tokenizer = tokenizer

    def __getattr__(self, name: str) -> object:
        return getattr(self.tokenizer, name)

    def encode(self, text: str) -> list[int]:
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: list[str]) -> list[list[int]]:
        tag = self.tokenizer.reserved_id(BACK_TRANSLATED)
        return [[tag, *row] for row in self.tokenizer.encode_batch(texts)]


def test_the_tag_tells_one_kind_of_text_from_the_other(tmp_path: Path, seed: int) -> None:
    """Human text teaches to copy a word, and as much tagged text to read it backwards."""
    sources = words(3000, seed)
    human = Corpus(files=(write(tmp_path / "human.tsv", sources, reverse=False),), source="a", target="b")
    machine = Corpus(files=(write(tmp_path / "machine.tsv", sources, reverse=True),), source="a", target="b", tag="bt")
    config = RunConfig(
        data=DataConfig(train=(human, machine), drop_identical=False, drop_duplicates=False),
        tokens=TokensConfig(kind="characters"),
        batching=BatchingConfig(tokens=300),
        model=TransformerConfig(
            encoder_layers=2, decoder_layers=2, d_model=48, heads=4, d_ff=96, dropout=0.0, norm="pre"
        ),
        training=TrainingConfig(
            seed=seed % 1000, max_steps=400, schedule="cosine", optimizer="muon", learning_rate=5e-3, warmup=20,
            average=1, device="cpu", precision="fp32",
        ),
    )  # fmt: skip
    train(config, tmp_path / "run", quiet=True)
    plain = load_translator(tmp_path / "run")
    tagged = Translator(plain.model, Tokenizers(Tagging(plain.tokenizers.source), plain.tokenizers.target))
    unseen = words(300, seed + 2)
    for translator, expected in ((plain, unseen), (tagged, [word[::-1] for word in unseen])):
        outputs = translator.translate(unseen, beam_size=1, guards=False)
        right = sum(output.text == word for output, word in zip(outputs, expected, strict=True))
        print(f"{right} of {len(unseen)}")
        assert right >= 0.98 * len(unseen)
