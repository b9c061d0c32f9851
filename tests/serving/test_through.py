"""Languages that a model connects through another one: in lists, in answers, in streams, and where it is refused."""

from collections.abc import Iterator

import pytest

from limelight.config import Direction
from limelight.pipelines.translator import Translator
from limelight.serving.worker import description
from tests.serving.helpers import Running, carrying, running

TEXT = "the lamp hums here now"


def connecting() -> Translator:
    """Translates pt-en and en-de, and says nonsense."""
    one = carrying()
    return Translator(one.model, one.tokenizers, one.config, directions=[Direction("pt", "en"), Direction("en", "de")])


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": connecting()}) as started:
        yield started


def test_every_list_has_the_languages_that_can_be_reached(service: Running) -> None:
    (model,) = service.get("/api/v1/models").value["models"]
    assert [(each["source"], each["target"], each["through"]) for each in model["directions"]] == [
        ("pt", "en", ""), ("en", "de", ""), ("pt", "de", "en"),
    ]  # fmt: skip
    libre = {each["code"]: each["targets"] for each in service.get("/languages").value}
    assert libre == {"pt": ["en", "de"], "en": ["de"], "de": []}
    assert {each["id"] for each in service.get("/v1/models").value["data"]} >= {"one:pt-en", "one:en-de", "one:pt-de"}
    for kind, codes in (("source", ["PT", "EN"]), ("target", ["EN-GB", "EN-US", "DE"])):
        assert [each["language"] for each in service.get(f"/v2/languages?type={kind}").value] == codes
    pairs = service.get("/v2/glossary-language-pairs").value["supported_languages"]
    assert {"source_lang": "pt", "target_lang": "de"} in pairs


def test_each_dialect_translates_through_and_says_so(service: Running) -> None:
    expected = connecting().translate(TEXT, source_lang="pt", target_lang="de", lines=True, protect=False)
    assert expected.path == ("pt", "en", "de")
    own = service.post("/api/v1/translate", {"text": TEXT, "source_lang": "pt", "target_lang": "de"}).value
    (found,) = own["translations"]
    assert (found["text"], found["path"]) == (expected.text, ["pt", "en", "de"])
    assert found["sentences"][0]["path"] == ["pt", "en", "de"]
    deepl = service.post("/v2/translate", {"text": [TEXT], "source_lang": "PT", "target_lang": "DE"}).value
    assert deepl["translations"][0]["text"] == expected.text
    libre = service.post("/translate", {"q": TEXT, "source": "pt", "target": "de"}).value
    assert libre["translatedText"] == expected.text
    direct = service.post("/api/v1/translate", {"text": TEXT, "source_lang": "pt", "target_lang": "en"}).value
    assert direct["translations"][0]["path"] == []


def test_what_shows_one_direction_names_both(service: Running) -> None:
    answer = service.post("/api/v1/page/explain", {"text": TEXT, "source_lang": "pt", "target_lang": "de"})
    assert answer.status == 400
    assert "de is not available from pt; available are: pt-en, en-de" in answer.value["error"]["message"]


def test_a_service_without_pivots_does_not_offer_them() -> None:
    one = connecting()
    assert description(one, pivot=False)["pivots"] == []
    one.pivots = {}
    with running({"one": one}) as started:
        assert {each["code"]: each["targets"] for each in started.get("/languages").value} == {
            "pt": ["en"],
            "en": ["de"],
            "de": [],
        }
        answer = started.post("/api/v1/translate", {"text": TEXT, "source_lang": "pt", "target_lang": "de"})
        assert (answer.status, answer.value["error"]["message"]) == (
            400, "de is not available from pt; available are: pt-en, en-de",
        )  # fmt: skip
