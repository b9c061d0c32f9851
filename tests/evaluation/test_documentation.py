import re
from pathlib import Path

import pytest

from limelight.config import Corpus, DataConfig, DecoderOnlyConfig, DecodingConfig, RunConfig, TransformerConfig
from limelight.models.families import build_model
from limelight.storage.model import save_model
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.tokens.text import RESERVED

DOCS = Path(__file__).parents[2] / "docs"
SIDES = {"test.en": "A dog runs on the grass.\nTwo birds sing.\n", "test.de": "Ein Hund rennt.\nZwei Vögel singen.\n"}
SIDES |= {name.replace("test", "train"): text for name, text in SIDES.items()}
TINY = TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=8, heads=2, d_ff=12)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with a random model and a test set under the names the pages use."""
    folder = tmp_path_factory.mktemp("workplace")
    for name, text in SIDES.items():
        (folder / name).write_text(text, encoding="utf-8")
    texts = [*" ".join(SIDES.values()).splitlines(), *["A cat runs. Eine Katze rennt."] * 2]
    tokenizer = train_tokenizer(
        texts, kind="bpe", vocabulary_size=None, languages=["de"], byte_fallback=True, seed=1, sentences=len(texts)
    )
    tokenizers = Tokenizers(tokenizer, tokenizer)
    data = DataConfig(train=[Corpus(files=("train.tsv",), source="en", target="de")])
    config = RunConfig(data=data, model=TINY, decoding=DecodingConfig(max_length_factor=1, max_length_extra=3))
    save_model(folder / "runs" / "en-de", build_model(TINY, tokenizers), tokenizers, config, notes={}, card="")
    _save_writer(folder / "runs" / "plays")
    (folder / "unseen.txt").write_text("Two dogs.\nA bird sings.\n", encoding="utf-8")
    return folder


def _save_writer(folder):
    """A random language model of characters."""
    letters = train_tokenizer(
        ["A dog runs.\n"],
        kind="characters",
        vocabulary_size=None,
        languages=(),
        byte_fallback=False,
        seed=1,
        sentences=1,
        reserved=RESERVED,
    )
    config = RunConfig(model=DecoderOnlyConfig(layers=1, d_model=8, heads=2, d_ff=12))
    tokenizers = Tokenizers(letters, letters)
    save_model(folder, build_model(config.model, tokenizers), tokenizers, config, notes={}, card="")


@pytest.mark.parametrize("page", ["evaluation.md", "inspection.md"])
def test_the_code_on_the_page_runs(page, workplace, monkeypatch, capsys):
    monkeypatch.chdir(workplace)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert capsys.readouterr().out
