"""The detector of languages as a file: what is written is read, and what is damaged is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from limelight.errors import UserError
from limelight.storage.tables import read_detector, save_detector
from limelight.storage.weights import save_weights
from limelight.text.detection import BUCKETS, learn_detector

DETECTOR = learn_detector({"en": ["the house is here"] * 60, "de": ["das Haus ist schön"] * 60})
NOTES = {"languages": json.dumps(["en", "de"]), "temperature": "2.0", "alphabet": "abc"}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    save_detector(tmp_path / "a.safetensors", DETECTOR)
    found = read_detector(tmp_path / "a.safetensors")
    assert found is not None
    assert (found.languages, found.temperature, found.alphabet, found.other) == (
        DETECTOR.languages, DETECTOR.temperature, DETECTOR.alphabet, DETECTOR.other,
    )  # fmt: skip
    assert np.array_equal(found.scores, DETECTOR.scores)
    assert found.probabilities("schön") == DETECTOR.probabilities("schön")
    assert (tmp_path / "a.safetensors").stat().st_size < 300_000


def test_a_detector_of_an_earlier_version_knows_no_other_languages(tmp_path: Path) -> None:
    save_weights(tmp_path / "a.safetensors", {"scores": torch.zeros(2, BUCKETS, dtype=torch.uint8)}, NOTES)
    found = read_detector(tmp_path / "a.safetensors")
    assert found is not None
    assert sum(found.probabilities("abc").values()) == pytest.approx(1)


def test_no_file_is_no_detector(tmp_path: Path) -> None:
    assert read_detector(tmp_path / "none.safetensors") is None


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"languages": "[]"}, "languages: List should have at least 2"),
        ({"languages": "{"}, "languages: Invalid JSON"),
        ({"languages": json.dumps([1, 2])}, "languages.0: Input should be a valid string"),
        ({"languages": json.dumps(["en", "de", "fr"])}, "expected one tensor of uint8"),
        ({"temperature": "nan"}, "temperature: Input should be"),
        ({"temperature": "0"}, "temperature: Input should be greater than 0"),
        ({"temperature": "warm"}, "temperature: Input should be a valid number"),
        ({"other": "nan"}, "other: Input should be less than or equal to 0"),
    ],
)
def test_damaged_notes_are_refused(tmp_path: Path, notes: dict[str, str], message: str) -> None:
    save_weights(tmp_path / "a.safetensors", {"scores": torch.zeros(2, BUCKETS, dtype=torch.uint8)}, NOTES | notes)
    with pytest.raises(UserError, match=message):
        read_detector(tmp_path / "a.safetensors")


@pytest.mark.parametrize("scores", [torch.zeros(2, 5, dtype=torch.uint8), torch.zeros(2, BUCKETS)])
def test_another_tensor_is_refused(tmp_path: Path, scores: torch.Tensor) -> None:
    save_weights(tmp_path / "a.safetensors", {"scores": scores}, NOTES)
    with pytest.raises(UserError, match="expected one tensor of uint8"):
        read_detector(tmp_path / "a.safetensors")


def test_the_notes_have_to_be_there(tmp_path: Path) -> None:
    save_weights(tmp_path / "a.safetensors", {"scores": torch.zeros(2, BUCKETS, dtype=torch.uint8)}, {})
    with pytest.raises(UserError, match="languages: Field required"):
        read_detector(tmp_path / "a.safetensors")
