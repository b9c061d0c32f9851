"""One sentence from inside: attention, the probability of every token, the beam."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from tests.cli.conftest import corpus, trained  # noqa: F401
from tests.serving.helpers import Running, running

SENTENCE = "the dog sees the cat"


@pytest.fixture(scope="module")
def model(trained: Path) -> Translator:  # noqa: F811
    found = load_translator(trained, precision="fp32")
    found.name = "tiny"
    return found


@pytest.fixture(scope="module")
def service(model: Translator) -> Iterator[Running]:
    with running({"tiny": model}) as started:
        yield started


def test_steps_are_the_probability_of_every_token(service: Running, model: Translator) -> None:
    found = model.translate(SENTENCE, guards=False)
    answer = service.post("/api/v1/steps", {"text": SENTENCE}).value
    assert answer["model"] == "tiny"
    chosen = [step["chosen"]["log_probability"] for step in answer["steps"]]
    assert len(chosen) == len(found.tokens) + 1, "one for each token, and one for the end"
    searched = chosen if found.finished else chosen[:-1]
    assert math.isclose(sum(searched), found.log_probability, abs_tol=1e-3)
    for step in answer["steps"]:
        probabilities = [each["probability"] for each in step["candidates"]]
        assert probabilities == sorted(probabilities, reverse=True)
        assert sum(probabilities) <= 1.0001


def test_alternatives_after_a_forced_prefix(service: Running, model: Translator) -> None:
    words = model.translate(SENTENCE, guards=False).text.split()
    answer = service.post("/api/v1/steps", {"text": SENTENCE, "prefix": words[0]}).value
    assert answer["translation"]["prefix"]
    assert answer["translation"]["text"].startswith(words[0])
    given = service.post("/api/v1/steps", {"text": SENTENCE, "target": " ".join(words[::-1])}).value
    assert given["translation"]["text"] == " ".join(words[::-1])


def test_attention_is_the_document_of_the_page(service: Running) -> None:
    answer = service.post("/api/v1/attention", {"text": SENTENCE, "every_head": True}).value
    attention = answer["attention"]
    assert answer["format"] == 1
    assert attention["model"] == "tiny", "the name that it was given"
    assert attention["sides"]["source"]
    assert "cross" in attention["matrices"]
    assert "steps" not in attention


def test_the_beam_is_a_tree(service: Running) -> None:
    answer = service.post("/api/v1/beam", {"text": SENTENCE, "beam_size": 3}).value
    assert answer["beam"]
    given = service.post("/api/v1/beam", {"text": SENTENCE, "target": "x"}).value
    assert given["beam"] is None


@pytest.mark.parametrize(
    ("changed", "status"),
    [({"text": ""}, 400), ({"text": "  "}, 400), ({"text": "a" * 2001}, 400), ({"beam_size": 99}, 400),
     ({"text": "word " * 390}, 400), ({"nonsense": 1}, 400), ({"model": "no"}, 404), ({"target_lang": "xx"}, 400),
     ({"target": "x", "prefix": "y"}, 400)],
)  # fmt: skip
def test_what_cannot_be_explained_is_refused(service: Running, changed: dict, status: int) -> None:
    answer = service.post("/api/v1/steps", {"text": SENTENCE, **changed})
    assert answer.status == status
    assert answer.value["error"]["message"]
