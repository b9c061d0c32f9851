import base64
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from limelight.inspection.page_data import page_document, places, thumbnails
from tests.inspection.fakes import random_map, softmax

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/page-1.json").read_text(encoding="utf-8"))


def unpacked(array: dict) -> np.ndarray:
    values = np.frombuffer(base64.b64decode(array["data"]), dtype=np.dtype(array["dtype"]).newbyteorder("<"))
    return values.reshape(array["shape"])


def test_the_document_follows_its_schema_and_is_plain_json(seed):
    document = json.loads(json.dumps(page_document(random_map(seed), every_head=True), allow_nan=False))
    jsonschema.validate(document, SCHEMA)
    for wrong in ({"version": 2}, {"kinds": [{}]}, {"sides": {}}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**document, **wrong}, SCHEMA)


def test_weights_are_those_of_the_map(seed):
    seen = random_map(seed)
    document = page_document(seen, every_head=True)
    assert [kind["name"] for kind in document["kinds"]] == ["cross", "encoder_self", "decoder_self"]
    for kind in document["kinds"]:
        name = kind["name"]
        np.testing.assert_array_equal(unpacked(document["matrices"][name]), seen.weights(name))
        np.testing.assert_array_equal(unpacked(kind["mean"]), seen.average(name))
        np.testing.assert_allclose(unpacked(kind["mean"]).sum(axis=1), 1, atol=1e-6)
        rows, columns = seen.labels(name)
        assert [token["piece"] for token in document["sides"][kind["rows"]]["tokens"]] == list(rows)
        assert [token["piece"] for token in document["sides"][kind["columns"]]["tokens"]] == list(columns)
        assert kind["causal"] == (not seen.may_attend(name).all())
    assert "matrices" not in page_document(seen), "a page with a server asks for what it shows"


@pytest.mark.parametrize(
    ("text", "pieces", "found"),
    [
        ("Two dogs.", ["▁Two", "▁do", "gs", ".", "</s>"], [(0, 3), (4, 6), (6, 8), (8, 9), None]),
        ("  a  a", ["<2de>", "▁a", "▁a"], [None, (2, 3), (5, 6)]),
        ("Straße", ["▁Stra<0xC3><0x9F>", "e"], [(0, 5), (5, 6)]),
        ("ab c", ["▁c"], [None]),
        ("ab", ["▁", "ab"], [None, (0, 2)]),
        ("", ["▁a"], [None]),
        (
            "a 🙂 b",
            ["▁a", "▁", "<0xF0>", "<0x9F>", "<0x99>", "<0x82>", "▁b"],
            [(0, 1), None, (2, 3), *[None] * 3, (4, 5)],
        ),
        ("a 猫 b", ["▁a", "▁", "<unk>", "▁b"], [(0, 1), None, None, (4, 5)]),
    ],
)
def test_places(text, pieces, found):
    assert places(text, pieces) == found


def test_thumbnails_are_small_and_keep_the_brightest_cell(seed):
    weights = np.zeros((2, 3, 100, 7), dtype=np.float32)
    weights[1, 2, 99, 3], weights[0, 0, 0, 0] = 1.0, 0.5
    small = thumbnails(weights)
    assert small.shape == (2, 3, 24, 7)
    assert small.dtype == np.uint8
    assert small[1, 2, 23, 3] == 255
    assert small[0, 0, 0, 0] == 128
    assert np.count_nonzero(small) == 2
    exact = softmax(np.random.default_rng(seed).normal(size=(1, 1, 24, 5)))
    np.testing.assert_allclose(thumbnails(exact) / 255, exact, atol=1 / 509)
