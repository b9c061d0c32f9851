"""What goes to CTranslate2 and what cannot; that it then computes the same stands in tests/against."""

import json
import sys
from pathlib import Path

import pytest

from limelight.config import RecurrentConfig
from limelight.errors import RunError, UserError
from limelight.interop import ctranslate2, export_ctranslate2
from limelight.storage.model import StoredModel
from tests.interop.helpers import make_stored, make_tokenizers, transformer


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> StoredModel:
    tokenizers = make_tokenizers(joint=False, byte_fallback=False)
    return make_stored(tmp_path_factory.mktemp("model"), transformer(tie="none", norm="pre"), tokenizers)


def test_a_folder_is_complete(stored: StoredModel, tmp_path: Path) -> None:
    export_ctranslate2(stored, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("README.md", "config.json", "model.bin", "source.spm", "source_vocabulary.json"),
        *("target.spm", "target_vocabulary.json"),
    ]
    values = json.loads((tmp_path / "out" / "config.json").read_text())
    assert values["decoder_start_token"] == "<pad>"
    assert values["add_source_eos"] is True
    assert values["layer_norm_epsilon"] == 1e-5
    pieces = json.loads((tmp_path / "out" / "target_vocabulary.json").read_text())
    assert pieces == stored.tokenizers.target.pieces(range(stored.tokenizers.target.size))
    assert (tmp_path / "out" / "README.md").read_text().endswith("# Whose it is\n")


def test_models_that_cannot_go_there(tmp_path: Path) -> None:
    joint = make_tokenizers(joint=True)
    both = make_stored(tmp_path / "both", transformer(score="additive", head_size=6), joint)
    with pytest.raises(UserError, match=r"both: this model cannot go to CTranslate2: .*additive.*; model.head_size=6"):
        export_ctranslate2(both, tmp_path / "out")
    recurrent = make_stored(tmp_path / "recurrent", RecurrentConfig(embedding=5, hidden=7), joint)
    with pytest.raises(UserError, match=r"model.family=recurrent: no other format"):
        export_ctranslate2(recurrent, tmp_path / "out")
    with pytest.raises(UserError, match="exists already"):
        export_ctranslate2(both, tmp_path / "both")
    assert not (tmp_path / "out").exists()


def test_without_the_package(stored: StoredModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "ctranslate2"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(UserError, match=r"needs CTranslate2's Python package: pip install 'limelight\[export\]'"):
        export_ctranslate2(stored, tmp_path / "out")


def test_what_cannot_be_written_leaves_nothing(
    stored: StoredModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ctranslate2, "write_sentencepiece", full)
    with pytest.raises(RunError, match=r"out: cannot be written: No space left on device; nothing is left there"):
        export_ctranslate2(stored, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
