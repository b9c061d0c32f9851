"""A tokenizer's folder: nothing in it is believed unchecked, and each refusal names its file."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from limelight.errors import UserError
from limelight.tokens import metadata
from limelight.tokens.metadata import MODEL_FILES, read_stored, write_stored

STORED = 41, ("<2de>", "<ph0>"), b"model bytes"


@pytest.mark.parametrize("kind", MODEL_FILES)
def test_what_is_written_is_read(kind: str, tmp_path: Path) -> None:
    write_stored(tmp_path / "made" / "on" / "the" / "way", kind, *STORED)
    found, model = read_stored(tmp_path / "made" / "on" / "the" / "way")
    assert (found.kind, (found.pieces, tuple(found.reserved), model)) == (kind, STORED)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, r"tokenizer\.yaml: not a description .* format Input should be 1"),
        ({"kind": "../bpe"}, r"kind Input should be 'bpe', "),
        ({"kind": [1]}, r"kind Input should be 'bpe', "),
        ({"extra": 1}, "extra Extra inputs are not permitted"),
        ({"pieces": "many"}, "pieces Input should be a valid integer"),
        ({"pieces": True}, "pieces Input should be a valid integer"),
        ({"pieces": 500_001}, "pieces Input should be less than or equal to 500000"),
        ({"padding": 0}, r"padding is 0, it must be the last id, here 41"),
        ({"reserved": [5]}, r"reserved\.0 Input should be a valid string"),
        ({"sha256": "0" * 64}, r"spm\.model: damaged, or not the file that tokenizer\.yaml describes"),
    ],
)
def test_a_changed_description_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    write_stored(tmp_path, "bpe", *STORED)
    path = tmp_path / "tokenizer.yaml"
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | change))
    with pytest.raises(UserError, match=message):
        read_stored(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"", b"- a\n", b"a: [", b"\xff", b"[" * 600, b"!!python/object/apply:os.system ['true']", b"a" * 100_001],
)
def test_a_broken_description_is_refused(content: bytes, tmp_path: Path) -> None:
    write_stored(tmp_path, "bpe", *STORED)
    (tmp_path / "tokenizer.yaml").write_bytes(content)
    with pytest.raises(UserError, match=r"tokenizer\.yaml: (not a description|damaged|cannot be read)"):
        read_stored(tmp_path)


def test_a_damaged_model_file_is_refused(tmp_path: Path) -> None:
    write_stored(tmp_path, "bpe", *STORED)
    (tmp_path / "spm.model").write_bytes(b"model byteS")
    with pytest.raises(UserError, match=r"spm\.model: damaged, or not the file that .* \(SHA-256 differs\)"):
        read_stored(tmp_path)


def test_a_model_file_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stored(tmp_path, "bpe", *STORED)
    monkeypatch.setattr(metadata, "_MAX_MODEL_BYTES", 10)
    with pytest.raises(UserError, match=r"spm\.model: cannot be read \(11 bytes, and at most 10 are expected\)"):
        read_stored(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer.yaml", "spm.model"])
def test_a_missing_file_is_named(name: str, tmp_path: Path) -> None:
    write_stored(tmp_path, "bpe", *STORED)
    (tmp_path / name).unlink()
    with pytest.raises(UserError, match=rf"{name}: cannot be read \(No such file.*\); is this the folder"):
        read_stored(tmp_path)
