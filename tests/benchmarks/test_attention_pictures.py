"""`benchmarks/attention_pictures.py`: three small models over generated text, and a picture of each."""

from pathlib import Path

import pytest

from benchmarks import attention_pictures
from benchmarks.attention_pictures import NAMES, SOURCE, config_of, main
from examples.phrase_grammar import write_corpus

CELLS = ("model.embedding=8", "model.hidden=6", "tokens.sampling=0", "tokens.vocabulary_size=400")
HEADS = ("model.d_model=8", "model.heads=2", "model.d_ff=8", "tokens.vocabulary_size=400")


@pytest.mark.slow
def test_each_model_is_trained_once_and_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # few pairs for validation: of more, each run would learn its confidence
    monkeypatch.setattr(attention_pictures, "write_corpus", lambda *given: write_corpus(*given, held_out=9))
    monkeypatch.setattr(attention_pictures, "PAIRS", 150)
    monkeypatch.setattr(attention_pictures, "SETTINGS", {"bahdanau": CELLS, "luong": CELLS, "demo": HEADS})
    main(tmp_path / "pictures", tmp_path / "runs", updates=2)
    drawn = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "pictures").iterdir()}
    assert set(drawn) == {f"attention-{name}" for name in ("bahdanau", "luong", "transformer", "heads")}
    for picture in drawn.values():
        assert SOURCE in picture
        assert str(tmp_path) not in picture, "a model has a name, and not a place on somebody's disk"
    assert NAMES["luong"] in drawn["attention-luong"]
    assert "layer 1, head 1" in drawn["attention-heads"]
    monkeypatch.setattr(attention_pictures, "train", lambda *given: pytest.fail("trained again"))
    main(tmp_path / "again", tmp_path / "runs", updates=2)
    assert {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "again").iterdir()} == drawn


def test_all_models_are_trained_alike(tmp_path: Path) -> None:
    configs = [config_of(recipe, tmp_path, 600) for recipe in NAMES]
    assert {config.training.model_dump_json() for config in configs} == {configs[0].training.model_dump_json()}
    assert len({config.model.model_dump_json() for config in configs}) == 3
    assert configs[0].training.max_steps == 600
