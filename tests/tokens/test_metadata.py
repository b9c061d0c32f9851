"""A tokenizer's folder: nothing in it is believed unchecked, and each refusal names its file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from limelight.errors import UserError
from limelight.tokens import metadata
from limelight.tokens.metadata import MODEL_FILES, StoredTokenizer, read_stored, write_stored

STORED = StoredTokenizer("bpe", 41, ("<2de>", "<ph0>"), b"model bytes")


@pytest.mark.parametrize("kind", MODEL_FILES)
def test_what_is_written_is_read(kind: str, tmp_path: Path) -> None:
    stored = StoredTokenizer(kind, 41, ("<2de>", "<ph0>"), b"model bytes")
    write_stored(stored, tmp_path / "made" / "on" / "the" / "way")
    assert read_stored(tmp_path / "made" / "on" / "the" / "way") == stored


def test_the_description_is_plain_to_read(tmp_path: Path) -> None:
    write_stored(STORED, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spm.model", "tokenizer.yaml"]
    description = yaml.safe_load((tmp_path / "tokenizer.yaml").read_text())
    assert len(description.pop("sha256")) == 64
    assert description == {"format": 1, "kind": "bpe", "pieces": 41, "padding": 41, "reserved": ["<2de>", "<ph0>"]}


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(format=2), r"tokenizer\.yaml: format 2 of a tokenizer folder; this version reads format 1"),
        (lambda d: d.pop("format"), r"tokenizer\.yaml: format None of a tokenizer folder"),
        (
            lambda d: d.update(kind="words"),
            r"unknown kind of tokenizer 'words'; known are bpe, unigram, wordpiece, characters, listed",
        ),
        (lambda d: d.update(kind="../bpe"), r"unknown kind of tokenizer '\.\./bpe'"),
        (lambda d: d.update(extra=1), r"keys that are missing or unknown: extra"),
        (lambda d: d.pop("padding"), r"keys that are missing or unknown: padding"),
        (lambda d: d.update(pieces="many"), r"pieces must be int, not 'many'"),
        (lambda d: d.update(pieces=True), r"pieces must be int, not True"),
        (lambda d: d.update(kind=[1]), r"kind must be str, not \[1\]"),
        (lambda d: d.update(pieces=500_001), r"500,001 pieces; a vocabulary has between 2 and 500,000"),
        (lambda d: d.update(padding=0), r"padding is 0, it must be the last id, here 41"),
        (lambda d: d.update(reserved=[5]), r"reserved pieces must be text"),
        (lambda d: d.update(sha256="0" * 64), r"spm\.model: damaged, or not the file that tokenizer\.yaml describes"),
    ],
)
def test_a_changed_description_is_refused(change: Change, message: str, tmp_path: Path) -> None:
    write_stored(STORED, tmp_path)
    path = tmp_path / "tokenizer.yaml"
    description = yaml.safe_load(path.read_text())
    change(description)
    path.write_text(yaml.safe_dump(description))
    with pytest.raises(UserError, match=message):
        read_stored(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "damaged: not a mapping of format, kind"),
        (b"- a\n", "damaged: not a mapping"),
        (b"a: [", r"damaged: not YAML: line \d: .*expected .*node content"),
        (b"\xff", "damaged: not in UTF-8"),
        (b"[" * 600, "damaged: not YAML: line 1: nested too deeply"),
        (b"!!python/object/apply:os.system ['true']", "damaged: not YAML: line 1: tags such as .* are not allowed"),
        (b"kind: bpe\nkind: unigram\n", "damaged: not YAML: line 2: kind is given twice"),
        (b"a" * 100_001, r"cannot be read \(100,001 bytes, and at most 100,000 are expected\)"),
    ],
)
def test_a_broken_description_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    write_stored(STORED, tmp_path)
    (tmp_path / "tokenizer.yaml").write_bytes(content)
    with pytest.raises(UserError, match=rf"tokenizer\.yaml: {message}"):
        read_stored(tmp_path)


def test_a_damaged_model_file_is_refused(tmp_path: Path) -> None:
    write_stored(STORED, tmp_path)
    (tmp_path / "spm.model").write_bytes(b"model byteS")
    with pytest.raises(UserError, match=r"spm\.model: damaged, or not the file that .* \(SHA-256 differs\)"):
        read_stored(tmp_path)


def test_a_model_file_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stored(STORED, tmp_path)
    monkeypatch.setattr(metadata, "_MAX_MODEL_BYTES", 10)
    with pytest.raises(UserError, match=r"spm\.model: cannot be read \(11 bytes, and at most 10 are expected\)"):
        read_stored(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer.yaml", "spm.model"])
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    write_stored(STORED, tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(UserError, match=rf"{name}: cannot be read \(No such file.*\); is this the folder"):
        read_stored(tmp_path)
