"""Tables of a model folder: what is written is read, and an untrusted file is checked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from limelight.errors import UserError
from limelight.inspection.head_roles import TEXTS
from limelight.storage.tables import (
    AlignmentHead,
    Confidence,
    Heads,
    Logistic,
    Role,
    Roles,
    read_detector,
    read_table,
    save_detector,
    save_table,
)
from limelight.storage.weights import save_weights
from limelight.text.detection import BUCKETS, learn_detector

HEADS = Heads(heads=[AlignmentHead(0, 2, True), AlignmentHead(1, 3, False)])


def crosses(layers: int, heads: int) -> dict[str, int]:
    return {f"decoder.{layer}.cross": heads for layer in range(layers)}


COUNTS = {"encoder.0.self": 2, "decoder.0.cross": 1}
ROLES = Roles(
    sentences=7,
    attentions={
        "encoder.0.self": [Role("previous", 0.5, 0.25), Role("spread", 1.0, 0.0)],
        "decoder.0.cross": [Role("aligns", 0.125, 0.75)],
    },
)
CONFIDENCE = Confidence(
    sentence={"": Logistic((1.0, -2.5), 0.25, (-3.0, 0.0), (1.5, 1.0)), "en-de": Logistic((0.1, 0.2), 0.3)},
)
READERS: dict[str, Callable[[Path], Any]] = {
    "alignment.json": lambda path: read_table(path, Heads, counts=crosses(2, 4)),
    "roles.json": lambda path: read_table(path, Roles, counts=COUNTS, known=TEXTS),
    "confidence.json": lambda path: read_table(path, Confidence, features=2),
}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert [read(tmp_path / name) for name, read in READERS.items()] == [None, None, None]
    save_table(tmp_path / "alignment.json", HEADS, {"agreement": 0.8})
    save_table(tmp_path / "roles.json", ROLES, {"test": ["test.tsv"]})
    save_table(tmp_path / "confidence.json", CONFIDENCE, {"pairs": {"en-de": 7}})
    assert READERS["alignment.json"](tmp_path / "alignment.json").heads == HEADS.heads
    assert READERS["roles.json"](tmp_path / "roles.json").attentions == ROLES.attentions
    found = READERS["confidence.json"](tmp_path / "confidence.json")
    assert found.sentence == CONFIDENCE.sentence
    assert (found.format, found.notes) == (1, {"pairs": {"en-de": 7}})
    assert found.of("en-de") == found.sentence["en-de"]
    assert found.of("de-en") == found.sentence[""]


def test_a_table_of_another_model_is_refused(tmp_path: Path) -> None:
    save_table(tmp_path / "alignment.json", HEADS, {})
    save_table(tmp_path / "roles.json", ROLES, {})
    for layers, heads in ((1, 4), (2, 3)):
        with pytest.raises(UserError, match=r"alignment\.json: not the alignment\.json of this model: .*layer"):
            read_table(tmp_path / "alignment.json", Heads, counts=crosses(layers, heads))
    for counts in ({**COUNTS, "encoder.0.self": 3}, {"encoder.0.self": 2}, {**COUNTS, "decoder.0.self": 1}):
        with pytest.raises(UserError, match=r"not the roles\.json of this model: .*it has other heads"):
            read_table(tmp_path / "roles.json", Roles, counts=counts, known=TEXTS)


def changed(**values: Any) -> str:
    row = {"weights": [1, 2], "bias": 0}
    return json.dumps({"format": 1, "sentence": {"": row}, "word": {"": {"weights": [1, 2, 3], "bias": 0}}, **values})


def sentence(**values: Any) -> str:
    return changed(sentence={"": {"weights": [1, 2], "bias": 0, **values}})


def role(**values: Any) -> str:
    aligns = {"role": "aligns", "value": 0.5, "deviation": 0.5, **values}
    return json.dumps({"sentences": 7, "attentions": {"encoder.0.self": [aligns] * 2, "decoder.0.cross": [aligns]}})


def head(**values: Any) -> str:
    return json.dumps({"heads": [{"layer": 0, "head": 0, "reads": True, **values}]})


HOSTILE = [
    *((name, text, "") for name in READERS for text in ("", "[]", "{}", "{", "[" * 99_999)),
    ("confidence.json", changed(format=2), "format: Input should be 1"),
    ("confidence.json", changed(sentence={}), "the entry for all directions is missing"),
    ("confidence.json", sentence(weights=[1]), "has 1 weights, expected 2"),
    ("confidence.json", sentence(weights=[1, float("nan")]), "sentence..weights.1: Input should be"),
    ("confidence.json", sentence(weights=[1, 1e30]), "less than or equal to 1000000"),
    ("confidence.json", sentence(least=[0, 0]), "2 and 0 bounds, expected 2"),
    ("confidence.json", changed(notes={"x": "x" * 1_000_001}), ""),
    ("alignment.json", '{"heads": []}', "at least 1"),
    *(("alignment.json", head(**{name: value}), "") for name, value in (("reads", 1), ("layer", 0.0), ("layer", -1))),
    ("roles.json", role(role="unheard of"), "unknown role unheard of"),
    *(("roles.json", role(**values), "") for values in ({"role": None}, {"value": 1.5}, {"deviation": float("nan")})),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "fault"), HOSTILE)
def test_an_untrusted_file_is_refused_by_name(tmp_path: Path, name: str, text: str, fault: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=rf"{tmp_path / name}: not the {name} of this model: .*{fault}"):
        READERS[name](tmp_path / name)


def test_features_are_clamped_to_the_range_that_was_seen_and_never_overflow() -> None:
    clamped = Logistic((2.0, 1.0), -1.0, (-1.0, 0.0), (1.0, 0.5))
    assert clamped.probabilities([[-50.0, 9.0]]) == Logistic((2.0, 1.0), -1.0).probabilities([[-1.0, 0.5]])
    assert Logistic((1e6,), 0.0).probabilities([[1e300], [-1e300]]) == pytest.approx([1, 0])


DETECTOR = learn_detector({"en": ["the house is here"] * 60, "de": ["das Haus ist schön"] * 60})
NOTES = {"languages": json.dumps(["en", "de"]), "temperature": "2.0", "alphabet": "abc"}
SCORES = torch.zeros(2, BUCKETS, dtype=torch.uint8)


def test_a_detector_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_detector(tmp_path / "none.safetensors") is None
    save_detector(tmp_path / "a.safetensors", DETECTOR)
    found = read_detector(tmp_path / "a.safetensors")
    assert found is not None
    assert (found.languages, found.temperature, found.alphabet, found.other) == (
        DETECTOR.languages, DETECTOR.temperature, DETECTOR.alphabet, DETECTOR.other,
    )  # fmt: skip
    assert np.array_equal(found.scores, DETECTOR.scores)
    save_weights(tmp_path / "a.safetensors", {"scores": SCORES}, NOTES)  # of an earlier version, without `other`
    earlier = read_detector(tmp_path / "a.safetensors")
    assert earlier is not None
    assert sum(earlier.probabilities("abc").values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("scores", "notes", "message"),
    [
        (SCORES, {"languages": "[]"}, "languages: List should have at least 2"),
        (SCORES, {"languages": json.dumps(["en", "de", "fr"])}, r"scores of shape \(2, \d+\) for 3 languages"),
        (SCORES, {"temperature": "nan"}, "temperature: Input should be"),
        (SCORES[:, :5].clone(), {}, r"scores of shape \(2, 5\)"),
        (SCORES.float(), {}, "'scores': .torch.float32, 2"),
    ],
)
def test_a_damaged_detector_is_refused(
    tmp_path: Path, scores: torch.Tensor, notes: dict[str, str], message: str
) -> None:
    save_weights(tmp_path / "a.safetensors", {"scores": scores}, NOTES | notes)
    with pytest.raises(UserError, match=message):
        read_detector(tmp_path / "a.safetensors")
