"""Models of other formats are recognized by their content, and a command that needs one of ours names the way."""

import json
import struct
import zipfile
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.storage.foreign import recognize
from limelight.storage.layout import find_model


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


CTRANSLATE2 = struct.pack("<IH16s", 6, 16, b"TransformerSpec")
MARIAN = json.dumps({"model_type": "marian"}).encode()


def zipped(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return path


def test_formats_that_can_be_imported(tmp_path: Path) -> None:
    write(tmp_path, "ct2/model.bin", CTRANSLATE2)
    write(tmp_path, "hf/config.json", MARIAN)
    write(tmp_path, "hf/model.safetensors", b"")
    write(tmp_path, "argos/metadata.json", b"{}")
    write(tmp_path, "argos/model/model.bin", CTRANSLATE2)
    zipped(tmp_path / "marian.npz", "special:model.yml.npy").rename(write(tmp_path, "marian/model.npz", b""))
    archive = zipped(tmp_path / "any.name", "x/metadata.json", "x/model/model.bin")
    for path, format_ in (
        (tmp_path / "ct2", "CTranslate2"),
        (tmp_path / "ct2/model.bin", "CTranslate2"),
        (tmp_path / "hf", "transformers"),
        (tmp_path / "argos", "Argos"),
        (archive, "Argos"),
        (tmp_path / "marian", "Marian"),
    ):
        found = recognize(path)
        assert found is not None
        assert found.format == format_
        with pytest.raises(UserError, match=rf"this is .*{format_}.*; `limelight import {path} -o NEW` makes one"):
            find_model(path)


def test_another_format_is_told_which_formats_are_read(tmp_path: Path) -> None:
    write(tmp_path, "c/best.ckpt", b"x")
    zipped(tmp_path / "c/checkpoint_best.pt", "archive/data.pkl")
    for name in ("c", "c/checkpoint_best.pt"):
        with pytest.raises(UserError, match=r"not a run or model folder: .*`limelight import` reads Argos packages"):
            find_model(tmp_path / name)
    write(tmp_path, "b/cut.argosmodel", b"PK\3\4" + b"x" * 99)
    with pytest.raises(UserError, match=r"cut.argosmodel: a damaged zip archive"):
        recognize(tmp_path / "b" / "cut.argosmodel")


def test_several_models_of_a_training_by_marian_are_named(tmp_path: Path) -> None:
    for name in ("model.npz", "model.npz.best-bleu.npz"):
        zipped(tmp_path / name, "special:model.yml.npy")
    with pytest.raises(UserError, match=r"several Marian models: name one of model.npz, model.npz.best-bleu.npz"):
        recognize(tmp_path)


def test_nothing_else_is_taken_for_a_model(tmp_path: Path) -> None:
    write(tmp_path, "text/a.txt", b"text")
    write(tmp_path, "broken/config.json", b"{" * 1000)
    write(tmp_path, "empty/model.bin", b"")
    zipped(tmp_path / "a.bin", "archive/data.pkl")  # a PyTorch checkpoint
    assert {recognize(tmp_path / name) for name in ("text", "text/a.txt", "broken", "empty", "a.bin")} == {None}
    with pytest.raises(UserError, match=r"none: there is no such file or folder$"):
        recognize(tmp_path / "none")
