"""The bundled model's making, on a few sentences: trained, made small, measured, written down, and resumed."""

import gzip
import json
from pathlib import Path

import pytest

from benchmarks import in_the_box
from limelight.config import directions_of
from limelight.storage.detector import read_detector
from limelight.storage.model import load_model

ENGLISH = ("dog", "cat", "house", "tree", "bird", "river")
WORDS = {
    "de": ("Hund", "Katze", "Haus", "Baum", "Vogel", "Fluss"),
    "fr": ("chien", "chat", "maison", "arbre", "oiseau", "fleuve"),
}
SMALL = [
    *("model.encoder_layers=1", "model.decoder_layers=1", "model.d_model=16", "model.heads=2", "model.d_ff=32"),
    *("tokens.vocabulary_size=null", "batching.tokens=256", "training.device=cpu", "training.bleu_sentences=4"),
    *("decoding.max_length_factor=1", "decoding.max_length_extra=5", "decoding.beam_size=1"),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Four words on each side, in the files that the text comes in."""
    folder = tmp_path / "data"
    folder.mkdir()
    for partner, words in WORDS.items():
        for part, count in (("train", 200), ("dev", 8), ("test", 8)):
            rows = [[(row * step + step) % 6 for step in (1, 5, 7, 11)] for row in range(count)]
            sides = [
                [f"{' '.join(side[each] for each in row)} {number}." for number, row in enumerate(rows)]
                for side in (ENGLISH, words)
            ]
            lines = [f"{source}\t{target}\n" for source, target in zip(*sides, strict=True)]
            with gzip.open(folder / f"en-{partner}.{part}.tsv.gz", "wt", encoding="utf-8") as file:
                file.writelines(lines)
    return folder


def test_the_model_is_made_in_four_directions_measured_and_resumed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_the_box, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(in_the_box, "SAMPLES", 2)
    config = in_the_box.configuration(data, "deep-6-1", ["training.max_steps=2", *SMALL])
    in_the_box.train(config, tmp_path / "box" / "run")
    in_the_box.main(data, tmp_path / "box", updates=4, recipe="deep-6-1", set_=SMALL)
    stored = load_model(tmp_path / "box" / in_the_box.NAME)
    assert stored.notes["step"] == "4"
    assert stored.config.weights == "int8"
    assert [tuple(each) for each in directions_of(stored.config.data)] == list(in_the_box.DIRECTIONS)
    detector = read_detector(tmp_path / "box" / in_the_box.NAME / "languages.safetensors")
    assert detector is not None
    assert [detector.detect(text)[0] for text in ("house river", "Haus Fluss", "maison fleuve")] == ["en", "de", "fr"]
    shown = capsys.readouterr().out
    for title in ("| direction | BLEU | aim |", "| words | 1-5 |", "| inputs | en-de |", "fr-en: 2 evenly spread of 8"):
        assert title in shown
    card = (tmp_path / "box" / in_the_box.NAME / "README.md").read_text(encoding="utf-8")
    assert "| de | 200 | 8 | 8 |" in card
    assert "of update 4" in card or "the average of" in card
    assert all(name in card for name in ("tatoeba.org", "CC BY 2.0 FR", "manythings.org/anki", "| links |"))
    found = json.loads((tmp_path / "results" / "in-the-box.json").read_text())
    assert set(found["scores"]) == {"en-de", "en-fr", "de-en", "fr-en"}
    assert all(row["bleu_signature"] and row["sentences"] == 8 for row in found["scores"].values())
    assert sum(found["robustness"]["en-de"]["links"]) > 0
    assert "dog" not in json.dumps(found), "sentences are printed, not kept"


def test_all_augmentations_are_in_use(data: Path) -> None:
    config = in_the_box.configuration(data, "deep-6-2", ["training.max_steps=7"])
    assert all(rate > 0 for rate in config.augmentation.model_dump().values())
    assert config.training.max_steps == 7
