"""`benchmarks/loss_curves.py`: three short runs over generated text, from the text to the picture."""

import json
from pathlib import Path

import pytest

from benchmarks import loss_curves
from benchmarks.loss_curves import compare, means
from tests.training.helpers import write_pairs

SIZES = (
    "model.encoder_layers=1", "model.decoder_layers=1", "model.d_model=8", "model.heads=2", "model.d_ff=11",
    "tokens.vocabulary_size=400", "tokens.sampling=0", "batching.tokens=128",
)  # fmt: skip


def test_each_run_leaves_its_losses_and_the_picture_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_curves, "SMALL", SIZES)
    text = Path(write_pairs(tmp_path / "both.tsv", 61)).read_text(encoding="utf-8").splitlines()
    sides = [tmp_path / "train.en", tmp_path / "train.de"]
    for side, lines in zip(sides, zip(*(line.split("\t") for line in text), strict=True), strict=True):
        side.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    loss_curves.main(*sides, updates=5, out=tmp_path / "result.json", picture=tmp_path / "picture.svg")
    losses = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["losses"]
    assert {name: len(curve) for name, curve in losses.items()} == dict.fromkeys(loss_curves.RUNS, 5)
    assert losses["bf16"] != losses["fp32"] != losses["fp32, another seed"]
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=0.01)
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").count("<path") > 3


def test_distances_are_between_points_of_the_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_curves, "TOGETHER", 2)
    assert means([1.0, 3.0, 5.0, 7.0, 8.0]) == [2.0, 6.0, 8.0]
    found = compare({"one": [1.0, 3.0, 5.0, 7.0], "other": [2.0, 2.0, 4.0, 4.0]})
    assert found["mean of the last quarter"] == {"one": 7.0, "other": 4.0}
    assert found["mean distance from one"] == {"other": 1.0}
    assert found["largest distance from one"] == {"other": 2.0}
