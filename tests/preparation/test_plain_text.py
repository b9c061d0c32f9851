"""From files of plain text to tokens: nothing is lost, done twice, or left half done."""

from pathlib import Path
from typing import Any

import pytest

from limelight.config import DataConfig, RunConfig, TokensConfig, TrainingConfig
from limelight.errors import UserError
from limelight.formats import lines, running_text
from limelight.preparation.plain_text import PreparedText, prepare_text
from limelight.tokens import MASK, load_tokenizers, save_tokenizers, train_tokenizer
from limelight.tokens.stored import Tokenizers
from limelight.tokens.text import decode_text, encode_text
from limelight.training.preflight import _check_vocabulary

WORDS = ("one", "two", "three", "four", "five", "six", "seven")
LINES = [" ".join(WORDS[number * factor % 7] for factor in range(1, 3 + number % 5)) for number in range(211)]
TEXT = "".join(f"{line}\n" for line in LINES)


def write(path: Path, content: str | bytes) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def configured(tmp_path: Path, kind: str = "characters", **data: Any) -> RunConfig:
    if "text" not in data:
        data["text"] = (write(tmp_path / "text.txt", TEXT),)
    tokens = TokensConfig(kind=kind, byte_fallback=False)
    return RunConfig(data=DataConfig(**data), tokens=tokens, training=TrainingConfig(seed=3))


def prepared(config: RunConfig, run: Path) -> tuple[PreparedText, list[str]]:
    said: list[str] = []
    return prepare_text(config, run, said.append), said


def settled(run: Path) -> Path:
    """The mark of a run that has begun."""
    (run / "config.yaml").touch()
    return run


def text_of(found: PreparedText, role: str) -> list[str]:
    """The documents of a store, decoded."""
    documents, ids = [], getattr(found, role).ids.tolist()
    assert ids[0] == 0
    while len(ids) > 1:
        end = ids.index(0, 1)
        documents.append(decode_text(found.tokenizers.target, ids[1:end]))
        ids = ids[end:]
    return documents


@pytest.mark.parametrize("kind", ["characters", "bpe", "unigram"])
def test_a_file_is_one_document_and_its_last_tenth_is_for_validation(kind: str, tmp_path: Path) -> None:
    found, said = prepared(configured(tmp_path, kind), tmp_path / "run")
    cut = int(0.9 * len(TEXT))
    train, valid = text_of(found, "train"), text_of(found, "valid")
    if kind == "characters":
        assert (train, valid) == ([TEXT[:cut]], [TEXT[cut:]])
    else:
        assert [text.split() for text in (*train, *valid)] == [TEXT[:cut].split(), TEXT[cut:].split()]
        assert train[0].count("\n") + valid[0].count("\n") == 211
    assert (found.train.documents, found.train.utf8_bytes) == (1, cut)
    assert found.valid.utf8_bytes == len(TEXT) - cut
    assert found.tokenizers.source is found.tokenizers.target
    assert found.tokenizers.target.pieces([found.tokenizers.target.reserved_id(MASK)]) == [MASK]
    assert said[0] == f"learned a {kind} vocabulary of {found.tokenizers.target.padding}"
    assert said[1] == f"to train on: 1 documents, {cut:,} characters, {len(found.train.ids):,} tokens"


@pytest.mark.parametrize("kind", ["characters", "bpe", "unigram"])
def test_a_text_that_is_one_long_line_is_read_in_parts_and_is_the_same(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for reader, name in ((running_text, "PART"), (lines, "MAX_LINE_BYTES")):
        monkeypatch.setattr(reader, name, 10_000)
    text = " ".join(LINES * 30) + "\n"
    config = configured(tmp_path, kind, text=(write(tmp_path / "line.txt", text),), held_out=0.0)
    assert len(text) > 110_000
    found, _ = prepared(config, tmp_path / "run")
    assert found.train.ids.tolist() == [0, *encode_text(found.tokenizers.target, text), 0]
    assert (found.train.documents, found.train.utf8_bytes) == (1, len(text))


@pytest.mark.parametrize("kind", ["characters", "bpe"])
def test_lines_as_documents_stay_whole(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path / "text.txt", f"\n{TEXT}  \n")
    config = configured(tmp_path, kind, text=(path,), documents="line")
    found, said = prepared(config, tmp_path / "run")
    train, valid = text_of(found, "train"), text_of(found, "valid")
    assert train + valid == LINES
    assert found.train.documents == len(train)
    assert found.valid.utf8_bytes == sum(len(line) + 1 for line in valid)
    assert 0.05 < found.valid.utf8_bytes / len(TEXT) <= 0.1
    assert said[-1] == "left out 2: documents of nothing but white space"


def test_bytes_are_counted_as_they_were_read(tmp_path: Path) -> None:
    text = (write(tmp_path / "text.txt", TEXT),)
    valid_text = (write(tmp_path / "valid.txt", "fünf ☃\none\n"),)
    found, said = prepared(configured(tmp_path, text=text, valid_text=valid_text), tmp_path / "run")
    assert text_of(found, "train") == [TEXT]
    assert text_of(found, "valid") == ["f\u2047nf \u2047\none\n"]
    assert found.valid.utf8_bytes == 14
    assert said[-1] == "for validation: 1 documents, 11 characters, 13 tokens, 2 of them unknown"


@pytest.mark.parametrize("content", ["", " \n\t\n"])
@pytest.mark.parametrize("documents", ["file", "line"])
def test_a_blank_text_is_named(content: str, documents: str, tmp_path: Path) -> None:
    config = configured(tmp_path, text=(write(tmp_path / "blank.txt", content),), documents=documents)
    with pytest.raises(UserError, match=r"blank\.txt: there is nothing to train on: every document is blank, or was s"):
        prepared(config, tmp_path / "run")


def test_a_share_that_holds_nothing_out_is_named(tmp_path: Path) -> None:
    config = configured(tmp_path, text=(write(tmp_path / "one.txt", "one line alone"),), documents="line")
    message = r"one\.txt: nothing is left .* for data\.held_out=0\.1; .* or 0 to train without validation"
    with pytest.raises(UserError, match=message):
        prepared(config, tmp_path / "run")


def test_a_bad_line_stops_with_its_place_or_is_told_once(tmp_path: Path) -> None:
    path = write(tmp_path / "text.txt", TEXT.encode() + b"\xff\n")
    with pytest.raises(UserError, match=r"text\.txt:212: not valid UTF-8"):
        prepared(configured(tmp_path, text=(path,)), tmp_path / "run")
    found, said = prepared(configured(tmp_path, text=(path,), on_bad_line="skip"), tmp_path / "run")
    assert found.train.utf8_bytes + found.valid.utf8_bytes == len(TEXT)
    assert sum(line.startswith(f"skipped {path}:212: ") for line in said) == 1
    assert said[-1].startswith("skipped 1 line that cannot be read")
    assert (tmp_path / "run" / "data" / "text-skipped.txt").read_text().startswith(f"{path}:212: ")


def model(tmp_path: Path, *, reserved: tuple[str, ...] = ("[MASK]", "<line>")) -> Path:
    """A model folder, as far as it is looked at."""
    tokenizer = train_tokenizer(
        ["xyz abc\n"], kind="characters", vocabulary_size=None, languages=(), byte_fallback=True, seed=1, sentences=1,
        reserved=reserved,
    )  # fmt: skip
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").touch()
    save_tokenizers(Tokenizers(tokenizer, tokenizer), folder / "tokenizer")
    return folder


def test_a_run_that_begins_with_a_model_has_its_vocabulary(tmp_path: Path) -> None:
    folder = model(tmp_path)
    config = configured(tmp_path, "bpe").model_copy(update={"begin_with": str(folder)})
    found, said = prepared(config, tmp_path / "run")
    tokenizer = found.tokenizers.target
    assert tokenizer.decode(tokenizer.encode("xyz one")) == "xyz \u2047\u2047\u2047"
    assert said[0] == f"the vocabulary is that of {folder}"
    name = Path("tokenizer") / "joint" / "characters.txt"
    assert (tmp_path / "run" / name).read_bytes() == (folder / name).read_bytes()
    settled(tmp_path / "run")
    (folder / "model.safetensors").unlink()  # it is there once
    assert prepared(config, tmp_path / "run")[1] == []


def test_a_run_on_text_cannot_begin_with_a_translator(tmp_path: Path) -> None:
    config = configured(tmp_path).model_copy(update={"begin_with": str(model(tmp_path, reserved=()))})
    with pytest.raises(UserError, match=r"model: .* no reserved token \[MASK\]; it was not made for plain text"):
        _check_vocabulary(config, load_tokenizers(tmp_path / "model" / "tokenizer"))
