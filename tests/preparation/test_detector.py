"""The detector of languages of a run, beside its model: complete or not there."""

from pathlib import Path

import pytest

from limelight.config import Corpus, DataConfig, RunConfig
from limelight.preparation.kept import DATA
from limelight.preparation.shortlist import keep_detector, share_detector
from limelight.storage.layout import CONFIG, DETECTOR, TOKENIZER
from limelight.storage.tables import save_detector
from limelight.text.detection import learn_detector


@pytest.fixture
def run(tmp_path: Path) -> Path:
    texts = {"en": ["a dog runs over the green grass"] * 60, "de": ["ein Hund rennt über das grüne Gras"] * 60}
    (tmp_path / DATA).mkdir()
    save_detector(tmp_path / DATA / DETECTOR, learn_detector(texts))
    return tmp_path


def test_half_of_a_detector_is_replaced(run: Path) -> None:
    whole = (run / DATA / DETECTOR).read_bytes()
    (run / "best").mkdir()
    (run / "best" / DETECTOR).write_bytes(whole[:100_000])
    share_detector(run, run / "best")
    assert (run / "best" / DETECTOR).read_bytes() == whole


def test_a_run_takes_the_detector_of_the_model_it_begins_with(run: Path, tmp_path: Path) -> None:
    """Its own text is of one direction, and has too little of the other languages to learn one."""
    share_detector(run, run / "best")
    (run / "best" / "model.safetensors").touch()
    corpus = Corpus(files=("a.tsv",), source="en", target="de")
    data = DataConfig(train=(corpus,), inherited=(("en", "de"), ("de", "en")))
    config = RunConfig(begin_with=str(run), data=data)
    (tmp_path / "next" / DATA).mkdir(parents=True)
    keep_detector(config, [], tmp_path / "next", pytest.fail)
    assert (tmp_path / "next" / DATA / DETECTOR).read_bytes() == (run / DATA / DETECTOR).read_bytes()


def test_the_detector_of_a_start_with_other_languages_is_not_used(run: Path) -> None:
    """It would be copied to the model, also of a run that needs none."""
    data = DataConfig(train=(Corpus(files=("a.tsv",), source="en", target="fr"),))
    (run / TOKENIZER).mkdir()
    keep_detector(RunConfig(data=data), [], run, pytest.fail)
    assert not (run / DATA / DETECTOR).exists()
    (run / DATA / DETECTOR).touch()
    (run / CONFIG).touch()  # the run has begun with it
    keep_detector(RunConfig(data=data), [], run, pytest.fail)
    assert (run / DATA / DETECTOR).exists()
