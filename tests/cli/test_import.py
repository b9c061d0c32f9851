"""`limelight import`: the command line around the conversion, and what can be done with the result."""

import json
from pathlib import Path
from random import Random

import pytest

from limelight.formats import read_pairs
from limelight.interop import export_huggingface
from limelight.pipelines.load import load_translator
from limelight.pipelines.options import SEARCH_ONLY
from limelight.storage.model import load_model
from limelight.tokens import ListedTokenizer, SentencePieceTokenizer, Tokenizers, train_tokenizer
from limelight.tokens.listed import listed_model
from limelight.tokens.tokenizer import END_PIECE, UNKNOWN, UNKNOWN_PIECE
from tests.cli.conftest import Limelight
from tests.interop.helpers import make_stored, make_tokenizers, transformer


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marian")
    stored = make_stored(folder / "model", transformer(), make_tokenizers(joint=True))
    export_huggingface(stored, folder / "there")
    return folder / "there"


def test_an_imported_model_is_a_model(limelight: Limelight, marian: Path, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = limelight("import", marian, "-o", run)
    wrote = f"wrote {run}; translate with `limelight translate --model {run}`\n"
    assert ended.err.startswith("limelight: the languages of this model are not known, so that --from")
    assert ended == (0, "", ended.err.partition("wrote")[0] + wrote)
    (tmp_path / "text").write_text("The dog runs.\n\nTwo birds.\n")
    ended = limelight("translate", "--model", run, "--beam", "2", tmp_path / "text")
    assert (ended.code, ended.out.count("\n")) == (0, 3)
    ended = limelight("evaluate", "--model", run, "--test", corpus / "test.tsv", "--beam", "1", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["bleu"] >= 0
    ended = limelight("attention", "--model", run, "The dog runs.", "--target", "Der Hund.")
    assert ended.code == 0
    assert "Hund." in ended.out


def opus(corpus: Path, folder: Path) -> None:
    """A folder as those of OPUS-MT: a unigram model for each side, and one list of tokens for both."""
    pairs = list(read_pairs([corpus / "train.tsv"]))
    sides = [[getattr(pair, side) for pair in pairs] for side in ("source", "target")]
    models = [
        train_tokenizer(
            texts, kind="unigram", vocabulary_size=size, languages=[], byte_fallback=False, seed=1, sentences=len(texts)
        )
        for texts, size in zip(sides, (150, 160), strict=True)
    ]
    pieces = dict.fromkeys(piece for each in models for piece in each.pieces(range(2, each.padding)))
    names = [END_PIECE, UNKNOWN_PIECE, *pieces]
    listed = []
    for each in models:
        assert isinstance(each, SentencePieceTokenizer)
        listed.append(ListedTokenizer(listed_model(each.model, names), reserved=()))
    config = transformer(tie="three-way", output_bias=True, sinusoid_layout="halves")
    export_huggingface(make_stored(folder / "model", config, Tokenizers(*listed)), folder / "marian")


def test_the_vocabulary_of_an_opus_model_can_be_extended(limelight: Limelight, corpus: Path, tmp_path: Path) -> None:
    """New characters are tokens of both sides; translations of other texts are those of the parent."""
    opus(corpus, tmp_path)
    parent, run = tmp_path / "parent", tmp_path / "run"
    assert limelight("import", tmp_path / "marian", "-o", parent).code == 0
    old = load_model(parent).tokenizers
    assert isinstance(old.source, ListedTokenizer)
    assert old.source is not old.target
    assert old.one_vocabulary
    draw = Random(3)
    texts = [f"{''.join(draw.sample('abdeilmnorstu', 6))}." for _ in range(60)]
    (tmp_path / "new.tsv").write_text("".join(f"A wolvĕrine {text}\tUno ghiottŏne {text}\n" for text in texts), "utf-8")
    given = ["train", "--from", parent, "--train", tmp_path / "new.tsv", "--valid", corpus / "valid.tsv"]
    given += ["--source", "en", "--target", "lumi", "--max-steps", 2, "--set", "data.replay=0", "--out", run]
    ended = limelight(*given, "--extend-vocabulary")
    assert ended.code == 0, ended.err
    assert f"the vocabulary is that of {parent} with " in ended.err
    new = load_model(run).tokenizers
    assert new.one_vocabulary
    for word in ("wolvĕrine", "ghiottŏne"):
        assert all(UNKNOWN in tokenizer.encode(word) for tokenizer in old)
        assert all(UNKNOWN not in tokenizer.encode(word) for tokenizer in new)
    sources = [pair.source for pair in read_pairs([corpus / "train.tsv"])]
    sources = [each for each in sources if max(new.source.encode(each)) < old.source.padding][:20]
    assert len(sources) > 10, "without new words"
    assert list(map(new.source.encode, sources)) == list(map(old.source.encode, sources))
    asked = {**SEARCH_ONLY, "beam_size": 1}
    found = [load_translator(folder).translate(sources, **asked) for folder in (parent, run / "start")]
    assert [each.text for each in found[1]] == [each.text for each in found[0]]
