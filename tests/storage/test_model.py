"""Model folders: complete, found, refused with a reason, and replaced in one move."""

import shutil
from pathlib import Path

import pytest
import torch

from limelight.config import RecurrentConfig, RunConfig, TransformerConfig
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from limelight.storage import model as stored
from limelight.storage.layout import find_model
from limelight.storage.model import load_model, save_model
from limelight.tokens import Tokenizers, train_tokenizer
from tests.models.helpers import random_batch

TEXTS = ["the red cat sleeps", "a green house stands here", "die rote Katze schläft", "ein grünes Haus steht hier"]
CONFIGS = {
    "transformer": RunConfig(model=TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=12)),
    "ssru": RunConfig(
        model=TransformerConfig(
            encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=12, decoder_autoreg="ssru", positions="rotary"
        )
    ),
    "recurrent": RunConfig(model=RecurrentConfig(embedding=7, hidden=11, score_size=5)),
}


def tokenizer(texts: list[str]) -> object:
    return train_tokenizer(
        texts, kind="bpe", vocabulary_size=None, languages=["en", "de"], byte_fallback=False, seed=1, sentences=2
    )


@pytest.fixture(scope="module")
def joint() -> Tokenizers:
    both = tokenizer(TEXTS)
    return Tokenizers(both, both)


def save(folder: Path, tokenizers: Tokenizers, name: str = "transformer", card: str = "card") -> Seq2Seq:
    model = build_model(CONFIGS[name].model, tokenizers)
    save_model(folder, model, tokenizers, CONFIGS[name], notes={"step": "3"}, card=card)
    return model.eval()


@pytest.mark.parametrize("name", CONFIGS)
def test_what_is_loaded_computes_what_was_saved(name: str, joint: Tokenizers, seed: int, tmp_path: Path) -> None:
    model = save(tmp_path, joint, name)
    found = load_model(tmp_path)
    batch = random_batch(model)
    assert torch.equal(found.model(batch), model(batch))
    assert found.config == CONFIGS[name]
    assert found.tokenizers.source is found.tokenizers.target
    assert found.tokenizers.source.encode(TEXTS[0]) == joint.source.encode(TEXTS[0])
    assert found.notes["step"] == "3"
    assert not found.model.training
    assert (tmp_path / "README.md").read_text() == "card"


def test_a_run_stands_for_its_best_model_and_the_folder_can_be_moved(
    joint: Tokenizers, seed: int, tmp_path: Path
) -> None:
    save(tmp_path / "run" / "best", joint)
    assert find_model(tmp_path / "run") == tmp_path / "run" / "best"
    shutil.move(tmp_path / "run" / "best", tmp_path / "elsewhere")
    assert load_model(str(tmp_path / "elsewhere")).folder == tmp_path / "elsewhere"


class Killed(BaseException):
    pass


@pytest.mark.parametrize("part", ["whole_folder", "write_whole", "save_weights"])
def test_killed_while_writing_there_is_no_half_model(
    part: str, joint: Tokenizers, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(stored, part, dying)
        with pytest.raises(Killed):
            save(tmp_path, joint)
    with pytest.raises(UserError):
        find_model(tmp_path)
    save(tmp_path, joint)  # what lies there does not hinder the next attempt
    assert load_model(tmp_path).config == CONFIGS["transformer"]


def test_a_run_that_has_no_model_yet(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("recipe: x")
    with pytest.raises(UserError, match=r"this run has no model yet: .*; `limelight train --out .*` continues it"):
        load_model(tmp_path)
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "log.jsonl").touch()
    with pytest.raises(UserError, match=r"this run has no model yet"):
        load_model(tmp_path)


@pytest.mark.parametrize("place", ["", "best"])
def test_missing_files_of_a_copied_model_are_named(place: str, tmp_path: Path, joint: Tokenizers) -> None:
    (tmp_path / "log.jsonl").touch() if place else None
    folder = tmp_path / place
    save(folder, joint)
    config = (folder / "config.yaml").read_bytes()
    (folder / "config.yaml").unlink()
    with pytest.raises(UserError, match=r"config\.yaml: cannot read .* copy the whole folder again"):
        load_model(tmp_path)
    (folder / "config.yaml").write_bytes(config)
    (folder / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"nor model\.safetensors; .* copy the whole folder again"):
        load_model(tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "config.yaml", "tokenizer/joint/spm.model", "tokenizer"])
def test_a_link_out_of_the_folder_is_refused(name: str, joint: Tokenizers, seed: int, tmp_path: Path) -> None:
    save(tmp_path / "model", joint)
    path, outside = tmp_path / "model" / name, tmp_path / "outside"
    path.rename(outside)
    path.symlink_to(outside)
    with pytest.raises(
        UserError, match=rf"model/{name}.*: a link out of .*, to .*outside.*; put the file itself there"
    ):
        load_model(tmp_path / "model")


def test_sizes_that_are_not_those_of_the_weights_cost_no_memory(joint: Tokenizers, seed: int, tmp_path: Path) -> None:
    save(tmp_path, joint)
    text = (tmp_path / "config.yaml").read_text()
    (tmp_path / "config.yaml").write_text(text.replace("d_model: 8", "d_model: 1000000"))
    with pytest.raises(UserError, match=r"do not fit the model .* expected \(1000000, 1000000\)"):  # 4 TB
        load_model(tmp_path)


def test_nothing_in_a_model_folder_could_run(joint: Tokenizers, seed: int, tmp_path: Path) -> None:
    save(tmp_path, joint)
    kinds = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert kinds == {".safetensors", ".yaml", ".md", ".model"}
