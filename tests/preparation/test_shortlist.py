"""From a run, or from text, to the shortlist in its folder."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import yaml

from limelight.config import Corpus, load_config
from limelight.errors import UserError
from limelight.preparation import shortlist as module
from limelight.preparation.shortlist import make_shortlist
from limelight.storage.layout import SHORTLIST
from limelight.storage.tables import read_shortlist
from limelight.tokens import load_tokenizers
from limelight.training.run import train

# each word has a word of its own, in another order
WORDS = {"red": "rot", "bird": "vogel", "sees": "sieht", "old": "alt", "house": "haus", "river": "fluss", "a7": "a7"}


def write_text(file: Path, count: int = 120) -> Path:
    chosen = np.random.default_rng(5)
    lines = []
    for _ in range(count):
        words = chosen.choice(list(WORDS), size=3, replace=False)
        lines.append(f"{' '.join(words)}\t{' '.join(WORDS[word] for word in words[::-1])}\n")
    file.write_text("".join(lines))
    return file


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with separate vocabularies of whole words."""
    folder = tmp_path_factory.mktemp("shortlist")
    text, unseen = write_text(folder / "train.tsv"), write_text(folder / "valid.tsv")
    (folder / "config.yaml").write_text(
        yaml.safe_dump(
            {
                "data": {
                    "train": [{"files": [str(text)], "source": "en", "target": "de"}],
                    "valid": [{"files": [str(unseen)], "source": "en", "target": "de"}],
                    "drop_duplicates": False,
                },
                "tokens": {"joint": False, "vocabulary_size": 90, "byte_fallback": False},
                "model": {"family": "transformer", "tie": "two-way", "encoder_layers": 1, "decoder_layers": 1,
                          "d_model": 8, "heads": 2, "d_ff": 8},
                "training": {"max_steps": 2, "validate_every": 2, "bleu_sentences": 1, "device": "cpu",
                             "precision": "fp32"},
            }
        )
    )  # fmt: skip
    train(load_config(folder / "config.yaml"), folder / "run", quiet=True)
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy, to be written to."""
    return Path(shutil.copytree(made / "run", tmp_path / "run"))


def candidates(file: Path, folder: Path, text: str) -> set[str]:
    """The tokens that a text may become."""
    tokenizers = load_tokenizers(folder / "tokenizer")
    listed = read_shortlist(file, tokenizers).of(tokenizers.source.encode(text), tokenizers.target.padding)
    return set(tokenizers.target.pieces(np.flatnonzero(listed).tolist()))


def test_a_run_teaches_what_its_words_become(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FREQUENT", 1)
    monkeypatch.setattr(module, "CANDIDATES", 4)
    said: list[str] = []
    file = make_shortlist(run, [], said.append)
    assert file == run / "best" / SHORTLIST
    assert said[0] == "learned from 120 pairs"
    tokenizers = load_tokenizers(run / "tokenizer")
    for word, other in WORDS.items():
        found = candidates(file, run, word)
        assert set(tokenizers.target.pieces(tokenizers.target.encode(other))) <= found


def test_text_teaches_the_same_as_the_pieces_made_of_it(run: Path, tmp_path: Path) -> None:
    """Given with its files, or with the folder of the model alone."""

    def learned(path: Path, corpora: Sequence[Corpus] = ()) -> tuple[list[list[int]], list[int]]:
        found = read_shortlist(make_shortlist(path, corpora, print), load_tokenizers(run / "tokenizer"))
        return found.candidates.tolist(), found.always.tolist()

    once, text = learned(run), load_config(run / "config.yaml").data.train
    assert learned(run, text) == once
    assert learned(run / "best") == once
    shutil.rmtree(run / "data")
    with pytest.raises(UserError, match=r"the training text is not there: give parallel text .* with --train FILE"):
        learned(run)
    alone = Path(shutil.copytree(run / "best", run.parent / "alone"))
    assert make_shortlist(alone, text, print) == alone / SHORTLIST
    with pytest.raises(UserError, match="there is no such model"):
        make_shortlist(tmp_path / "none", [], print)
    (tmp_path / "empty.tsv").write_text("\n")
    with pytest.raises(UserError, match=r"empty.tsv"):
        make_shortlist(run, [text[0].model_copy(update={"files": (str(tmp_path / "empty.tsv"),)})], print)
