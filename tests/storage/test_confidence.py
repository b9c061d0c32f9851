"""confidence.json: what is written is read, and what a stranger wrote is checked."""

import json
from pathlib import Path
from typing import Any

import pytest

from limelight.errors import UserError
from limelight.storage.tables import Confidence, Logistic, read_confidence, save_confidence

GIVEN = Confidence(
    {"": Logistic((1.0, -2.5), 0.25, (-3.0, 0.0), (1.5, 1.0)), "en-de": Logistic((0.1, 0.2), 0.3)},
    {"": Logistic((1e-9, 7.0, 3.0), -1.0)},
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "confidence.json"
    assert read_confidence(path, sentence=2, word=3) is None
    save_confidence(path, GIVEN, {"pairs": {"en-de": 7}})
    assert read_confidence(path, sentence=2, word=3) == GIVEN
    values = json.loads(path.read_text(encoding="utf-8"))
    assert (values["format"], values["notes"]) == (1, {"pairs": {"en-de": 7}})
    assert GIVEN.of("en-de") == (GIVEN.sentence["en-de"], GIVEN.word[""])
    assert GIVEN.of("de-en") == (GIVEN.sentence[""], GIVEN.word[""])


def test_a_probability_never_overflows() -> None:
    assert Logistic((1e6,), 0.0).probabilities([[1e300]])[0] == pytest.approx(1)
    assert Logistic((1e6,), 0.0).probabilities([[-1e300]])[0] == pytest.approx(0)


def changed(**values: Any) -> str:
    row = {"weights": [1, 2], "bias": 0}
    return json.dumps({"format": 1, "sentence": {"": row}, "word": {"": {"weights": [1, 2, 3], "bias": 0}}, **values})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "not the confidence.json"),
        ("[]", "not the confidence.json"),
        ("[" * 99_999, "not the confidence.json"),
        (changed(format=2), "format: Input should be 1"),
        (changed(sentence={}), "the entry for all directions is missing"),
        (changed(sentence={"": {"weights": [1], "bias": 0}}), "has 1 weights, expected 2"),
        (changed(sentence={"": {"weights": [1, None], "bias": 0}}), "not the confidence.json"),
        (changed(sentence={"": {"weights": [1, float("nan")], "bias": 0}}), "sentence..weights.1: Input should be"),
        (changed(word={"": {"weights": [1, 2, 1e30], "bias": 0}}), "less than or equal to 1000000"),
        (
            changed(sentence={"": {"weights": [1, 2], "bias": 0, "least": [0], "greatest": [0]}}),
            "1 and 1 bounds, expected 2",
        ),
        (changed(sentence={"": {"weights": [1, 2], "bias": 0, "least": [0, 0]}}), "2 and 0 bounds, expected 2"),
        (changed(notes="x" * 1_000_001), "not the confidence.json"),
    ],
)
def test_what_is_none_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "confidence.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=fault) as error:
        read_confidence(path, sentence=2, word=3)
    assert str(path) in str(error.value)


def test_features_are_clamped_to_the_range_that_was_seen() -> None:
    clamped = Logistic((2.0, 1.0), -1.0, (-1.0, 0.0), (1.0, 0.5))
    assert clamped.probabilities([[-50.0, 9.0]]) == Logistic((2.0, 1.0), -1.0).probabilities([[-1.0, 0.5]])
