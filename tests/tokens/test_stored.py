"""Tokenizers on disk: what is loaded does what was saved, and nothing strange is loaded."""

from pathlib import Path

import pytest
import yaml

from limelight.errors import UserError
from limelight.tokens import (
    Tokenizer,
    Tokenizers,
    load_tokenizer,
    load_tokenizers,
    save_tokenizers,
    train_tokenizer,
)
from limelight.tokens.metadata import write_stored

TEXTS = [f"the {color} {thing} is {color}" for color in ("red", "green", "grün") for thing in ("cat", "house", "tree")]
KINDS = ("bpe", "unigram", "characters")


def train(kind: str, texts: list[str] = TEXTS) -> Tokenizer:
    return train_tokenizer(
        texts, kind=kind, vocabulary_size=None, languages=["en", "de"], byte_fallback=True, seed=1, sentences=len(texts)
    )


@pytest.fixture(scope="module")
def trained() -> dict[str, Tokenizer]:
    return {kind: train(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_loaded_does_what_was_saved(kind: str, trained: dict[str, Tokenizer], tmp_path: Path) -> None:
    saved = trained[kind]
    saved.save(tmp_path)
    loaded = load_tokenizer(tmp_path)
    assert type(loaded) is type(saved)
    assert (loaded.size, loaded.padding) == (saved.size, saved.padding)
    texts = [*TEXTS, "<2de> a new <ph0>word 日本", ""]
    ids = list(map(saved.encode, texts))
    assert list(map(loaded.encode, texts)) == ids
    for row in ids:
        assert loaded.decode(row) == saved.decode(row)
        assert loaded.pieces(row) == saved.pieces(row)
        assert loaded.word_of(row) == saved.word_of(row)


def test_separate_tokenizers_stay_on_their_sides(trained: dict[str, Tokenizer], tmp_path: Path) -> None:
    save_tokenizers(Tokenizers(source=trained["unigram"], target=trained["characters"]), str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target"]
    loaded = load_tokenizers(str(tmp_path))
    assert list(map(loaded.source.encode, TEXTS)) == list(map(trained["unigram"].encode, TEXTS))
    assert list(map(loaded.target.encode, TEXTS)) == list(map(trained["characters"].encode, TEXTS))


@pytest.mark.parametrize("present", [(), ("source",), ("target",), ("joint", "source"), ("joint", "source", "target")])
def test_half_a_set_of_tokenizers_is_refused(
    present: tuple[str, ...], trained: dict[str, Tokenizer], tmp_path: Path
) -> None:
    for name in present:
        trained["bpe"].save(tmp_path / name)
    found = ", ".join(present) or "none of them"
    with pytest.raises(UserError, match=f"tokenizers are a folder joint, or source and target; found {found}$"):
        load_tokenizers(tmp_path)


def test_a_model_file_that_is_none_is_named(tmp_path: Path) -> None:
    write_stored(tmp_path, "bpe", 40, (), b"well described nonsense")
    with pytest.raises(UserError, match=r"spm\.model: not a sentencepiece model"):
        load_tokenizer(tmp_path)


def test_another_number_of_pieces_is_refused(trained: dict[str, Tokenizer], tmp_path: Path) -> None:
    trained["bpe"].save(tmp_path)
    path = tmp_path / "tokenizer.yaml"
    described = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(described | {"pieces": 77, "padding": 77}))
    count = trained["bpe"].padding
    with pytest.raises(UserError, match=rf"tokenizer\.yaml: 77 pieces, but the model file has {count}"):
        load_tokenizer(tmp_path)
