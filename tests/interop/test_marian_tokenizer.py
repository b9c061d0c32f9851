"""Vocabularies there and back, and every way in which files do not belong together."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece

from limelight.errors import UserError
from limelight.interop import export_ctranslate2, export_huggingface
from limelight.interop.huggingface import read_tokenizers, write_tokenizers
from limelight.interop.names import Rows
from limelight.interop.vocabularies import refused_tokenizers, write_sentencepiece
from limelight.tokens import ListedTokenizer, Tokenizers, train_tokenizer
from tests.interop.helpers import ENGLISH, GERMAN, MANY, make_stored, make_tokenizers, transformer

ALL = [*ENGLISH, *GERMAN, *MANY, "<2de> Das <ph3> hier", "a\tb\u3000c"]


@pytest.fixture(scope="module")
def joint() -> Tokenizers:
    return make_tokenizers(joint=True)


@pytest.fixture(scope="module")
def separate() -> Tokenizers:
    return make_tokenizers(joint=False, kind="unigram", byte_fallback=False)


@pytest.fixture
def folder(joint: Tokenizers, tmp_path: Path) -> Path:
    write_tokenizers(joint, tmp_path)
    return tmp_path


def vocabulary_of(folder: Path, name: str = "vocab.json") -> dict[str, int]:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def ids_there(folder: Path, vocabulary: str, model: str, text: str) -> list[int]:
    """What transformers does: the model splits, the list numbers."""
    ids = vocabulary_of(folder, vocabulary)
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / model)).encode(text, out_type=str)
    return [ids.get(piece, ids["<unk>"]) for piece in pieces]


def test_one_vocabulary_for_both_sides(joint: Tokenizers, folder: Path) -> None:
    assert (folder / "source.spm").read_bytes() == (folder / "target.spm").read_bytes()
    assert not (folder / "target_vocab.json").exists()
    assert [ids_there(folder, "vocab.json", "source.spm", text) for text in ALL] == list(map(joint.source.encode, ALL))
    source, target = read_tokenizers(folder, start=joint.source.padding)
    assert source is target
    assert source.rows == Rows(joint.source.size, list(range(joint.source.size)))
    assert source.kind == "bpe"
    assert source.tokenizer.pieces(range(9)) == joint.source.pieces(range(9))
    assert list(map(source.tokenizer.encode, ALL)) == list(map(joint.source.encode, ALL))
    sampled = (tokenizer.encode_sampled(ALL, amount=0.3, seed=7) for tokenizer in (source.tokenizer, joint.source))
    assert next(sampled) == next(sampled)


def test_two_vocabularies_are_read_and_not_written(separate: Tokenizers, tmp_path: Path) -> None:
    """Models that others have published have them, with one id for padding."""
    write_sentencepiece(separate, tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"separate_vocabs": true}')
    sizes = [tokenizer.size for tokenizer in separate]
    for tokenizer, name in zip(separate, ("vocab.json", "target_vocab.json"), strict=True):
        ids = {piece: number for number, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))}
        (tmp_path / name).write_text(json.dumps(ids), encoding="utf-8")
    sides = read_tokenizers(tmp_path, start=sizes[1] - 1)
    assert [side.rows for side in sides] == [Rows(size, list(range(size))) for size in sizes]
    for side, tokenizer in zip(sides, separate, strict=True):
        assert list(map(side.tokenizer.encode, ALL)) == list(map(tokenizer.encode, ALL))
    stored = make_stored(tmp_path / "run", transformer(norm="post", tie="none"), separate)
    with pytest.raises(UserError, match=r"it has two vocabularies \(tokens\.joint=false\)"):
        export_huggingface(stored, tmp_path / "out")


def test_special_pieces_may_have_other_ids(folder: Path, joint: Tokenizers) -> None:
    """Whatever ids they have there, here the end is 0, unknown 1, and padding the last."""
    moved = {piece: (number + 1) % joint.source.size for piece, number in vocabulary_of(folder).items()}
    assert moved["<pad>"] == 0
    (folder / "vocab.json").write_text(json.dumps(moved), encoding="utf-8")
    side, _ = read_tokenizers(folder, start=moved["<pad>"])
    assert side.rows.theirs == [*range(1, joint.source.size), 0]
    assert list(map(side.tokenizer.encode, ALL)) == list(map(joint.source.encode, ALL))


def test_what_no_sentencepiece_model_holds_stays_here(joint: Tokenizers, tmp_path: Path) -> None:
    both = train_tokenizer(
        ENGLISH * 3, kind="characters", vocabulary_size=None, languages=[], byte_fallback=False, seed=1, sentences=5
    )
    (reason,) = refused_tokenizers(Tokenizers(both, both))
    assert reason == "tokens.kind=characters: elsewhere texts are split by a sentencepiece model (bpe or unigram)"
    assert list(refused_tokenizers(Tokenizers(joint.source, both))) == [reason]
    assert list(refused_tokenizers(joint)) == []
    stored = make_stored(tmp_path / "run", transformer(), Tokenizers(both, both))
    for export in (export_huggingface, export_ctranslate2):
        with pytest.raises(UserError, match=rf"run: .*{re.escape(reason)}"):
            export(stored, tmp_path / "out")
        assert not (tmp_path / "out").exists()


def change(name: str, edit: Callable[[dict], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        values = json.loads((folder / name).read_text(encoding="utf-8"))
        edit(values)
        (folder / name).write_text(json.dumps(values), encoding="utf-8")

    return apply


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda folder: (folder / "source.spm").unlink(), r"source.spm: cannot be read: No such file"),
        (lambda folder: (folder / "target.spm").write_bytes(b"no"), r"target.spm: not a sentencepiece model"),
        (change("vocab.json", lambda ids: ids.update({"<unk>": 0})), "are not the numbers from 0 to 386"),
        (change("tokenizer_config.json", lambda values: values.update(separate_vocabs=True)), "target_vocab.json: "),
    ],
)
def test_files_that_do_not_belong_together(
    folder: Path, joint: Tokenizers, spoil: Callable[[Path], None], fault: str
) -> None:
    spoil(folder)
    with pytest.raises(UserError, match=fault):
        read_tokenizers(folder, start=joint.source.padding)


def test_a_list_of_its_own_is_kept(folder: Path) -> None:
    """Other tokens in another order: the model splits as before, the list numbers."""
    ids = vocabulary_of(folder)
    names = [*list(ids)[:2], ">>deu<<", *list(ids)[-2:300:-1], *list(ids)[2:290], "犬", "<pad>"]
    (folder / "vocab.json").write_text(json.dumps({name: number for number, name in enumerate(names)}))
    side, other = read_tokenizers(folder, start=len(names) - 1)
    assert side is other
    assert isinstance(side.tokenizer, ListedTokenizer)
    assert side.tokenizer.pieces(range(side.rows.size)) == names
    for text in ALL:
        assert side.tokenizer.encode(text) == ids_there(folder, "vocab.json", "source.spm", text), text
    assert side.tokenizer.encode(f">>deu<< {ENGLISH[0]}") == [2, *side.tokenizer.encode(ENGLISH[0])]
    pair = Tokenizers(side.tokenizer, side.tokenizer)
    before = (folder / "source.spm").read_bytes()
    write_tokenizers(pair, folder)
    assert (folder / "source.spm").read_bytes() == before
    assert list(vocabulary_of(folder)) == names
