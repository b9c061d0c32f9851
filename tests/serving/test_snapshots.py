"""Snapshots of a run, and models that do not translate, behind the service: the answers are those of Python."""

import base64
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import limelight
from limelight.config import load_config
from limelight.errors import UserError
from limelight.pipelines.explain import Question, explain
from limelight.pipelines.snapshots import MAX_LOADED, Snapshots, validation_curve
from limelight.preparation.kept import kept_pairs, validation_sentences
from limelight.serving.catalog import Catalog
from limelight.serving.links import Loading
from limelight.serving.refusal import Refusal
from limelight.storage.layout import find_snapshots
from tests.serving.helpers import Running, running
from tests.training.helpers import go, tiny_run
from tests.training.readers import label_run, masked_run
from tests.training.texts import text_run

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/schema/page-1.json").read_text(encoding="utf-8"))
TEXT = "one two three"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translator with five snapshots, a language model, a masked model."""
    folder = tmp_path_factory.mktemp("runs")
    go(tiny_run(folder / "pairs", max_steps=5, keep_snapshots=5, validate_every=1), folder / "run")
    go(text_run(folder / "text", max_steps=2), folder / "writer")
    go(masked_run(folder / "masks", max_steps=2), folder / "filler")
    return folder


@pytest.fixture(scope="module")
def service(runs: Path) -> Iterator[Running]:
    names = ("run", "writer", "filler")
    with running({name: Loading(str(runs / name), device="cpu", name=name) for name in names}) as found:
        yield found


def test_the_page_is_given_sentences_of_the_run(service: Running, runs: Path) -> None:
    """Validation sentences by language, at most 40; none of a model folder."""
    found = {each["name"]: each["examples"] for each in service.get("/api/v1/models").value["models"]}
    kept = [pair.source for pair in kept_pairs(runs / "run", "valid-0")]
    (first, *_) = found["run"].values()
    assert 1 <= len(first) <= 40
    assert set(first) <= set(kept)
    assert validation_sentences(runs / "run" / "best", load_config(runs / "run" / "config.yaml").data.valid) == {}
    assert found["writer"] == {}


def array(packed: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["data"]), dtype="<f4").reshape(packed["shape"])


def events(service: Running, path: str, body: dict[str, Any]) -> list[tuple[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=600)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    text = connection.getresponse().read().decode()
    connection.close()
    parts = [block.split("\n") for block in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in parts]


def test_a_sentence_at_each_snapshot_is_what_its_folder_says(service: Running, runs: Path) -> None:
    told = service.post("/api/v1/page/snapshots", {"model": "run"}).value
    assert told.get("updates") == [1, 2, 3, 4, 5], told
    for update, folder in find_snapshots(runs / "run").items():
        asked = {"model": "run", "text": TEXT, "snapshot": update}
        document = service.post("/api/v1/page/explain", asked).value["document"]
        translator = limelight.load(folder)
        assert document["translation"]["text"] == explain(translator, Question(TEXT))["translation"]["text"]
        seen = translator.attention(TEXT, target="eins zwei")
        ids = translator.tokenizers.target.encode("eins zwei")
        for kind in document["kinds"]:
            place = {"target": ids, "kind": kind["name"], "layer": 0, "head": 1}
            matrix = service.post("/api/v1/page/head", {**asked, **place}).value["matrix"]
            np.testing.assert_allclose(array(matrix), seen.average(kind["name"], layer=0, heads=1), atol=1e-6)


def test_they_are_loaded_when_they_are_asked_for_and_few_at_a_time(runs: Path) -> None:
    found = Snapshots(runs / "run" / "best", "run")
    assert not found.at.cache_info().currsize
    asked = (1, 2, 3, 1, 4, 5)
    loaded = {update: found.at(update) for update in asked}
    assert all(translator.name == "run" for translator in loaded.values())
    assert found.at.cache_info().currsize == MAX_LOADED
    assert all(found.at(update) is loaded[update] for update in (1, 4, 5)), "the ones that were asked for last"
    assert found.at(2) is not loaded[2]
    with pytest.raises(KeyError):
        found.at(9)


def test_a_model_without_a_run_has_none(tmp_path: Path, service: Running) -> None:
    assert Snapshots(tmp_path).described() == {"updates": [], "curve": []}
    (tmp_path / "log.jsonl").write_text('{"event": "validation"}\nnothing\n[]\n{"event": "training", "step": 3}\n')
    assert validation_curve(tmp_path / "log.jsonl") == []
    answer = service.post("/api/v1/page/explain", {"model": "run", "text": TEXT, "snapshot": 77})
    assert (answer.status, "no snapshot of update 77" in answer.value["error"]["message"]) == (400, True)


def test_a_file_holds_models_side_by_side_and_the_snapshots(service: Running) -> None:
    asked = {"model": "run", "text": TEXT, "beside": ["run"], "training": True}
    page = service.post("/api/v1/page/file", asked).value.decode()
    data = page.split('<script type="application/json" id="document">')[1].split("</script>")[0]
    document = json.loads(data)
    jsonschema.validate(document, SCHEMA)
    (beside,) = document["beside"]
    assert beside["matrices"] == document["matrices"]
    assert list(document["training"]["documents"]) == ["1", "2", "3", "4", "5"]
    assert document["training"]["documents"]["5"]["matrices"].keys() == document["matrices"].keys()
    refused = service.post("/api/v1/page/file", {**asked, "theme": "gray"})
    assert (refused.status, "theme: input should be" in refused.value["error"]["message"]) == (400, True)


def test_a_text_is_written_on_as_it_comes(service: Running, runs: Path) -> None:
    asked = {"model": "writer", "text": "the sun", "max_tokens": 7}
    *partial, (name, done) = events(service, "/api/v1/page/write", asked)
    assert name == "done"
    one = limelight.load(runs / "writer")
    (expected,) = one.generate("the sun", max_tokens=7)
    document = done["document"]
    jsonschema.validate(document, SCHEMA)
    assert document["written"]["text"] == expected.text
    texts = [each["text"] for kind, each in partial if kind == "partial"]
    assert all(expected.text.startswith(text) for text in texts)
    seen = one.attention("the sun" + expected.text)
    np.testing.assert_allclose(array(document["kinds"][0]["mean"]), seen.average("decoder_self"), atol=1e-6)
    place = {"model": "writer", "text": "the sun" + expected.text, "kind": "decoder_self", "layer": 0, "head": 1}
    matrix = service.post("/api/v1/page/text_head", place).value["matrix"]
    np.testing.assert_allclose(array(matrix), seen.average("decoder_self", layer=0, heads=1), atol=1e-6)
    assert len(document["steps"]) == len(seen.target_pieces)
    told = service.post("/api/v1/page/write", {**asked, "max_tokens": 1000})
    assert told.status == 400


def test_masks_are_filled_in(service: Running, runs: Path) -> None:
    one = limelight.load(runs / "filler")
    text = "the [MASK] rises over"
    document = service.post("/api/v1/page/fill", {"model": "filler", "text": text}).value["document"]
    jsonschema.validate(document, SCHEMA)
    expected = one.fill(text, top=8)
    assert document["filled"]["text"] == expected.text
    guesses = [(each["text"], each["probability"]) for each in document["filled"]["masks"][0]]
    assert guesses == [(each.text, pytest.approx(each.probability, abs=1e-6)) for each in expected.masks[0]]
    seen = one.attention(text)
    np.testing.assert_allclose(array(document["kinds"][0]["mean"]), seen.average("encoder_self"), atol=1e-6)
    whole = service.post("/api/v1/page/fill", {"model": "filler", "text": "the sun rises"}).value["document"]
    assert "filled" not in whole


def test_a_service_of_other_models_alone_is_not_to_be_asked_again() -> None:
    with pytest.raises(Refusal, match="no model of this service translates") as caught:
        Catalog(()).ways("en", "de")
    assert (caught.value.status, caught.value.retry_after) == (400, None)


def test_models_that_do_not_translate_are_asked_for_no_translation(service: Running) -> None:
    uses = {each["name"]: each["use"] for each in service.get("/api/v1/models").value["models"]}
    assert uses == {"run": "translate", "writer": "generate", "filler": "fill"}
    assert service.post("/api/v1/translate", {"text": TEXT}).value["translations"][0]["model"] == "run"
    for name in ("writer", "filler"):
        refused = service.post("/api/v1/translate", {"text": TEXT, "model": name})
        assert (refused.status, "does not translate" in refused.value["error"]["message"]) == (400, True)
    refused = service.post("/api/v1/page/fill", {"model": "writer", "text": "[MASK]"})
    assert (refused.status, "this model does not fill" in refused.value["error"]["message"]) == (400, True)
    for text, message in ((" ", "blank"), ("sun " * 300, "at most 200 are explained")):
        refused = service.post("/api/v1/page/fill", {"model": "filler", "text": text})
        assert (refused.status, message in refused.value["error"]["message"]) == (400, True)


def test_a_classifier_is_not_served(tmp_path: Path) -> None:
    from limelight.serving.worker import load_engine

    go(label_run(tmp_path / "labels", max_steps=1), tmp_path / "run")
    with pytest.raises(UserError, match="a classifier is not served"):
        load_engine(Loading(str(tmp_path / "run"), device="cpu"), lambda _: None)
