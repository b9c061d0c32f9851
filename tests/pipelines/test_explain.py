"""What the page shows is what Python gives for the same sentence."""

import base64
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import torch

from limelight.errors import UserError
from limelight.inspection import attention_map
from limelight.inspection.contributions import contributions
from limelight.inspection.erasure import TokenizedPair, erasures
from limelight.inspection.heads import with_heads
from limelight.pipelines import explain as module
from limelight.pipelines.explain import (
    Explanation,
    Question,
    explain,
    explained_page,
)
from limelight.pipelines.translator import Translator
from limelight.storage.tables import AlignmentHead
from tests.inspection.fakes import LETTERS, Letters
from tests.models.helpers import heads_kept, make_model, recurrent, transformer

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/page-1.json").read_text(encoding="utf-8"))
TEXT = "ab cde f"


def translator(config=None) -> Translator:
    torch.manual_seed(3)
    return Translator(make_model(config or transformer(), Letters.size, Letters.size).eval(), LETTERS)


def array(packed: dict) -> np.ndarray:
    dtype = {"float32": "<f4", "int16": "<i2"}[packed["dtype"]]
    return np.frombuffer(base64.b64decode(packed["data"]), dtype=dtype).reshape(packed["shape"]) * packed.get(
        "scale", 1
    )


@pytest.fixture(autouse=True)
def readable(monkeypatch):
    """An untrained model may say ids that the tokenizer of letters does not have."""
    monkeypatch.setattr(Letters, "pieces", lambda self, ids: [chr(96 + max(1, each % 27)) for each in ids])
    monkeypatch.setattr(Letters, "word_of", lambda self, ids: list(range(len(ids))))


def test_the_translation_is_that_of_translate_and_the_weights_are_those_of_the_map():
    one = translator()
    document = json.loads(json.dumps(explain(one, Question(TEXT, beam_size=3), every_head=True), allow_nan=False))
    jsonschema.validate(document, SCHEMA)
    found = one.translate(TEXT, beam_size=3, guards=False)
    assert document["translation"]["text"] == found.text
    seen = one.attention(TEXT, beam_size=3)
    for name, matrix in document["matrices"].items():
        np.testing.assert_allclose(array(matrix), seen.weights(name), atol=1e-6)
    if found.finished:
        assert document["translation"]["log_probability"] == pytest.approx(found.log_probability, abs=1e-3)
    assert len(document["steps"]) == len(document["sides"]["target"]["tokens"])
    assert document["beam"]["beam_size"] == 3


def test_a_decoder_without_self_attention_is_explained_by_the_rest():
    one = translator(transformer(decoder_autoreg="ssru"))
    document = json.loads(json.dumps(Explanation(one, Question(TEXT, beam_size=2)).whole(), allow_nan=False))
    jsonschema.validate(document, SCHEMA)
    assert [kind["name"] for kind in document["kinds"]] == ["cross", "encoder_self"]
    assert list(document["measures"]["contributions"]) == ["encoder_self", "cross"]
    with pytest.raises(
        UserError, match="this model has no attention of the kind decoder_self; it has encoder_self, cr"
    ):
        Explanation(one, Question(TEXT, target=(5, 6, 7))).head("decoder_self", 0, 0)
    with pytest.raises(UserError, match=r"unknown attention 'decoder\.0\.self'.*; the model has encoder\.0\.self with"):
        explain(one, Question(TEXT, off={"decoder.0.self": [0]}))


def test_a_page_holds_the_look_ups_of_the_head_that_aligns_best():
    page = explained_page(translator(), Question(TEXT, beam_size=2), theme="light")
    (data,) = re.findall('<script type="application/json" id="document">(.*?)</script>', page)
    document = json.loads(data)
    jsonschema.validate(document, SCHEMA)
    assert len(document["look_ups"]) == len(document["steps"])
    for place, found in document["look_ups"].items():
        kind, layer, head, row = place.split("/")
        weights = array(document["matrices"][kind])[int(layer), int(head), int(row)]
        np.testing.assert_allclose(array(found["weights"]), weights, atol=4e-5)
        assert ("keys" in found) == (row == "0")
    described = document["kinds"][0]["descriptions"][int(layer)][int(head)]
    aligning = [each for heads in document["kinds"][0]["descriptions"] for each in heads if each["role"] == "aligns"]
    if aligning:
        assert described["value"] == max(each["value"] for each in aligning)


def test_the_head_by_which_the_model_aligns_aligns_and_another_one_is_measured_by_it():
    one = translator()
    one.alignment_heads = [AlignmentHead(1, 2, reads=False)]
    document = explain(one, Question(TEXT, target=(5, 6, 7)), every_head=True)
    weights = array(document["matrices"]["cross"])[..., :3, :-1]  # without both ends; a token is a word here
    best = weights.argmax(axis=-1)
    for layer, heads in enumerate(document["kinds"][0]["descriptions"]):
        for head, found in enumerate(heads):
            if found["role"] == "aligns":
                assert found["value"] == pytest.approx((best[layer, head] == best[1, 2]).mean(), abs=1e-3)
    assert document["kinds"][0]["descriptions"][1][2]["text"] == "aligns 1.00"


def test_forced_text_follows_the_prefix():
    one = translator()
    document = explain(one, Question(TEXT, prefix=(5,), forced="cab"))
    assert document["translation"]["prefix"] == [5, *LETTERS.target.encode("cab")]
    assert document["translation"]["ids"][:4] == document["translation"]["prefix"]
    assert explain(one, Question(TEXT, forced=" "))["translation"]["prefix"] == []


def test_a_head_that_is_off_is_off_as_in_python():
    one, off = translator(), {"decoder.1.cross": [0, 2], "encoder.0.self": [1]}
    document = explain(one, Question(TEXT, target=(5, 6, 7), off=off), every_head=True)
    keep = {"decoder.1.cross": torch.tensor([0.0, 1, 0]), "encoder.0.self": torch.tensor([1.0, 0, 1])}
    with heads_kept(one.model, keep):
        seen = attention_map(one.model, LETTERS, TEXT, [5, 6, 7])
    np.testing.assert_array_equal(array(document["matrices"]["cross"]), seen.cross)
    plain = explain(one, Question(TEXT, target=(5, 6, 7)))
    assert plain["translation"]["log_probability"] != document["translation"]["log_probability"]


def test_measures_are_those_of_inspection():
    one, question = translator(), Question(TEXT, target=(5, 6, 7), off={"decoder.0.cross": [1]})
    found = Explanation(one, question).measures()
    source, keep = LETTERS.source.encode(TEXT), {"decoder.0.cross": torch.tensor([1.0, 0, 1])}
    words = [[word] for word in LETTERS.source.word_of(source)]
    with heads_kept(one.model, keep):
        drops = erasures(one.model, TokenizedPair(source, (5, 6, 7), words, (), (len(words), 0)))
    np.testing.assert_allclose(array(found["erasure"]), drops.T, atol=1e-5)
    for kind, expected in contributions(with_heads(one.model, keep), source, (5, 6, 7)).items():
        np.testing.assert_allclose(array(found["contributions"][kind]["norms"]), expected.norms, atol=1e-5)
        shares = (expected.layers / expected.layers.sum(-1, keepdims=True)).mean(axis=0)
        np.testing.assert_allclose(array(found["contributions"][kind]["mean"]), shares, atol=1e-5)
    layers = Explanation(one, question).layers()
    assert [len(layers[side]) for side in ("encoder", "decoder")] == [3, 3]
    steps = explain(one, question)["steps"]
    for step, last in zip(steps, layers["decoder"][-1], strict=True):
        assert last["chosen"] == pytest.approx(step["chosen"]["probability"], abs=1e-5)
        assert last["id"] == step["candidates"][0]["id"]
    whole = {**explain(one, question), "measures": found, "layers": layers}
    jsonschema.validate(json.loads(json.dumps(whole, allow_nan=False)), SCHEMA)


def test_a_recurrent_model_has_erasures_alone_and_a_long_sentence_none(monkeypatch):
    one, question = translator(recurrent()), Question(TEXT, target=(5, 6, 7))
    assert list(Explanation(one, question).measures()) == ["erasure"]
    assert Explanation(one, question).layers() == {}
    monkeypatch.setattr(module, "MAX_MEASURED", 3)
    assert Explanation(one, question).measures() == {}
    with pytest.raises(UserError, match="heads and layers exist in Transformers"):
        Explanation(one, Question(TEXT, off={"decoder.0.cross": [0]}))


def test_no_layer_writes_more_than_the_learned_positions():
    one = translator(transformer(positions="learned", max_positions=8))
    layers = Explanation(one, Question("ab c", target=(5, 6, 7, 8, 9, 10, 11))).layers()
    assert [len(row) for row in layers["decoder"]] == [8, 8, 8]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (Question("  "), "the text is blank"),
        (Question("a" * 300), "at most 200 are explained"),
        (Question(TEXT, target=(999,)), "the target has the id 999"),
        (Question(TEXT, prefix=(999,)), "the prefix forces the id 999"),
        (Question(TEXT, prefix=(999,), target=(5,)), "the prefix forces the id 999"),
        (Question(TEXT, off={"decoder.7.cross": [0]}), "unknown attention 'decoder.7.cross'"),
        (Question(TEXT, off={"decoder.0.cross": [3]}), r"'decoder.0.cross', or one of its heads \[3\]"),
        (Question(TEXT, beam_size=0), "beam_size must be at least 1"),
    ],
)
def test_mistakes_are_told(question, message):
    with pytest.raises(UserError, match=message):
        explain(translator(), question)


def test_a_distribution_is_that_of_the_step():
    one = translator()
    document = explain(one, Question(TEXT))
    given = Question(TEXT, target=document["translation"]["ids"])
    for row, step in enumerate(document["steps"]):
        values = array(Explanation(one, given).distribution(row))
        assert np.exp(values.astype(np.float64)).sum() == pytest.approx(1, abs=1e-5)
        ids = [each["id"] for each in step["candidates"]]
        np.testing.assert_allclose(values[ids], [each["log_probability"] for each in step["candidates"]], atol=1e-5)
    with pytest.raises(UserError, match="there is no step 99"):
        Explanation(one, given).distribution(99)
