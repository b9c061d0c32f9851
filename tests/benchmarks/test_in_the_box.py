"""The bundled model's making, on a few sentences: trained, made small, measured, written down, and resumed."""

import gzip
import json
from pathlib import Path

import pytest

from benchmarks import box_text, in_the_box
from benchmarks.box_text import Register, prepare_text
from benchmarks.robustness import read_inputs
from limelight.config import TransformerConfig, directions_of
from limelight.models.families import build_model
from limelight.recipes import find_recipe
from limelight.storage.model import load_model, save_model
from limelight.storage.tables import read_detector
from limelight.tokens import Tokenizers, train_tokenizer

ENGLISH = ("dog", "cat", "house", "tree", "bird", "river")
WORDS = {
    "de": ("Hund", "Katze", "Haus", "Baum", "Vogel", "Fluss"),
    "fr": ("chien", "chat", "maison", "arbre", "oiseau", "fleuve"),
}
REGISTERS = (Register("tatoeba", ("de", "fr"), 1.0, has_dev=True), Register("python-docs", ("fr",), 2.0))
SMALL = [
    "batching.tokens=256",
    "training.device=cpu",
    "training.bleu_sentences=4",
    *("decoding.max_length_factor=1", "decoding.max_length_extra=5", "decoding.beam_size=1"),
]
TINY = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=16, heads=2, d_ff=32)


def rows(part: str, partner: str, count: int) -> list[str]:
    """Lines of four words on each side."""
    found = []
    for row in range(count):
        chosen = [(row * step + step) % 6 for step in (1, 5, 7, 11)]
        sides = [f"{part} {' '.join(words[each] for each in chosen)} {row}." for words in (ENGLISH, WORDS[partner])]
        found.append("\t".join(sides) + "\n")
    return found


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the text comes in, of few words."""
    monkeypatch.setattr(in_the_box, "REGISTERS", REGISTERS)
    monkeypatch.setattr(box_text, "REGISTERS", REGISTERS)
    for register in REGISTERS:
        for partner in register.partners:
            for part, count in (("train", 200), ("dev", 8), ("test", 8)):
                path = tmp_path / "data" / register.folder / f"en-{partner}.{part}.tsv.gz"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(gzip.compress("".join(rows(part, partner, count)).encode()))
    names = tmp_path / "data" / "names" / "first.de.txt.gz"
    names.parent.mkdir()
    names.write_bytes(gzip.compress(b"Anna\nUwe\n"))
    return tmp_path / "data"


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    """A tiny model in place of the bundled one."""
    texts = [side for partner in WORDS for row in rows("train", partner, 50) for side in row.strip().split("\t")]
    both = train_tokenizer(
        texts, kind="bpe", vocabulary_size=None, languages=["de", "en", "fr"], byte_fallback=True, seed=1, sentences=100
    )
    tokenizers = Tokenizers(both, both)
    config = find_recipe("deep-6-2").model_copy(update={"model": TINY})
    folder = tmp_path / "parent"
    save_model(folder, build_model(TINY, tokenizers), tokenizers, config, notes={"step": "1"}, card="card")
    return folder


@pytest.mark.slow
def test_the_model_is_made_in_all_directions_measured_and_resumed(
    data: Path, parent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_the_box, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(in_the_box, "SAMPLES", 2)
    monkeypatch.setattr(in_the_box, "read_inputs", lambda *direction: read_inputs(*direction)[::40])
    monkeypatch.setattr(in_the_box, "OWN_TEXT", tmp_path / "samples")
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples" / "hotel.txt").write_text("The key is at the desk.\nBreakfast begins at seven.\n")
    out = tmp_path / "box"
    prepare_text(data, out / "text")
    begin = in_the_box.extended(parent, out / "text", out / "start")
    assert load_model(begin).tokenizers.target.encode("&")[-1] > load_model(parent).tokenizers.target.padding
    settings = ["training.max_steps=2", *SMALL]
    in_the_box.train(in_the_box.configuration(begin, data, out / "text", settings), out / "run")
    in_the_box.main(data, out, updates=4, parent=parent, set_=SMALL)
    stored = load_model(out / in_the_box.NAME)
    assert stored.notes["step"] == "4"
    assert stored.config.weights == "int8"
    directions = {"en-de", "de-en", "en-fr", "fr-en", "de-fr", "fr-de"}
    assert set(map(str, directions_of(stored.config.data))) == directions
    detector = read_detector(out / in_the_box.NAME / "languages.safetensors")
    assert detector is not None
    assert [next(iter(detector.probabilities(text))) for text in ("house river", "Haus Fluss", "maison fleuve")] == [
        "en",
        "de",
        "fr",
    ]
    shown = capsys.readouterr().out
    for title in (
        "hotel:",
        "| text | direction | BLEU | aim |",
        "| words | 1-5 |",
        "tatoeba, fr-de: 2 evenly spread of 8",
    ):
        assert title in shown
    card = (out / in_the_box.NAME / "README.md").read_text(encoding="utf-8")
    assert "| tatoeba | de-fr | 0.7 |" in card
    assert all(name in card for name in ("tatoeba.org", "CC BY 2.0 FR", "MPL-2.0", "Apache-2.0", "CC0"))
    found = json.loads((tmp_path / "results" / "in-the-box.json").read_text())
    assert set(found["scores"]) == {
        *(f"tatoeba {direction}" for direction in directions), "python-docs en-fr", "python-docs fr-en",
    }  # fmt: skip
    assert all(row["bleu_signature"] and row["sentences"] == 8 for row in found["scores"].values())
    assert "dog" not in json.dumps(found), "sentences are printed, not kept"


def test_the_last_model_is_made_small_even_if_the_first_was_better(data: Path, parent: Path, tmp_path: Path) -> None:
    prepare_text(data, tmp_path / "text")
    begin = in_the_box.extended(parent, tmp_path / "text", tmp_path / "start")
    settings = [
        "training.max_steps=2",
        "training.validate_every=1",
        "training.best_by=loss",
        "training.learning_rate=3000",
        *SMALL,
    ]
    run = tmp_path / "run"
    in_the_box.train(in_the_box.configuration(begin, data, tmp_path / "text", settings), run)
    made = in_the_box.smallest(run, tmp_path / "made")
    assert load_model(run).notes["step"] != "2", "the learning rate is too large to learn"
    assert load_model(made).notes["step"] == "2"


def test_all_augmentations_are_in_use(data: Path, parent: Path, tmp_path: Path) -> None:
    config = in_the_box.configuration(parent, data, tmp_path, ["training.max_steps=7"])
    assert all(rate > 0 for name, rate in config.augmentation.rates.items() if name not in ("memory", "formality"))
    assert config.training.max_steps == 7
    assert [Path(name).name for name in config.augmentation.name_lists] == ["first.de.txt.gz"]
