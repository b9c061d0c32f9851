"""A text that is already in the target language comes back as it is, and every API says so."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from limelight.serving.catalog import Catalog, Model
from tests.serving.helpers import Running, carrying, running, table, translator, wait_until
from tests.serving.test_documents import send

GERMAN = "Ich weiß nicht, wo meine Bücher sind."
SAID = "already in target language"


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": translator(table(1))}) as one:
        yield one


@pytest.mark.parametrize("target", ["de", "DE", "de-AT"])
def test_a_language_into_itself_changes_nothing(service: Running, target: str) -> None:
    """DeepL's and LibreTranslate's clients expect the text back."""
    deepl = {"text": [GERMAN, "dab"], "source_lang": "DE", "target_lang": target}
    assert service.post("/v2/translate", deepl).value["translations"] == [
        {"detected_source_language": "DE", "text": text} for text in (GERMAN, "dab")
    ]
    libre = {"q": GERMAN, "source": "de", "target": target, "alternatives": 2}
    assert service.post("/translate", libre).value == {"translatedText": GERMAN, "alternatives": []}
    own = service.post("/api/v1/translate", {"text": GERMAN, "source_lang": "de", "target_lang": target}).value
    (found,) = own["translations"]
    assert (found["text"], found["warnings"], found["source_lang"]) == (GERMAN, [SAID], "de")
    streamed = {"text": GERMAN, "source_lang": "de", "target_lang": target, "stream": True}
    assert SAID.encode() in service.post("/api/v1/translate", streamed).value


@pytest.mark.parametrize(("asked", "target"), [("pt", "pt"), ("pt_BR", "pt-BR"), ("PT-PT", "pt"), ("zt", "zh-Hant")])
def test_the_variety_that_is_named_comes_before_others(asked: str, target: str) -> None:
    info = {"directions": [["en", each] for each in ("pt", "pt-BR", "zh", "zh-Hant")]}
    pool: Any = SimpleNamespace(info=info, usable=True, loading=False)
    (way,) = Catalog([Model("one", pool)]).ways("en", asked)
    assert way.direction.target == target


def test_a_model_from_a_language_into_itself_translates() -> None:
    corrects = translator(table(1), "de", "de")
    with running({"one": corrects}) as one:
        answer = one.post("/translate", {"q": "dab", "source": "de", "target": "de"}).value
    assert answer["translatedText"] == corrects.translate("dab").text != "dab"


def test_a_language_that_no_model_has_is_refused_into_itself_too(service: Running) -> None:
    assert service.post("/translate", {"q": "dab", "source": "fr", "target": "fr"}).status == 400


def test_a_document_in_the_target_language_comes_back(service: Running) -> None:
    """For LibreTranslate's clients; DeepL has an error for it, once and for all."""
    text = "Ein Hund.\n\nEine Katze.\n"
    url = send(service, text.encode(), path="/translate_file", source="de", target="de").value["translatedFileUrl"]
    assert service.get(urlsplit(url).path).value.decode() == text
    handle = send(service, text.encode(), source_lang="DE", target_lang="DE").value
    path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    wait_until(lambda: service.post(path, key).value["status"] == "error")
    answer = service.post(f"{path}/result", key)
    assert (answer.status, answer.value["message"]) == (400, "Source and target language are equal.")


def test_every_api_says_which_language_it_was(service: Running) -> None:
    """A model of one direction knows it from the sentence alone."""
    libre = service.post("/translate", {"q": GERMAN, "source": "auto", "target": "de"}).value
    assert libre["translatedText"] == GERMAN
    assert libre["detectedLanguage"] == {"language": "de", "confidence": 100.0}
    deepl = service.post("/v2/translate", {"text": [GERMAN], "target_lang": "DE"}).value["translations"][0]
    assert deepl == {"detected_source_language": "DE", "text": GERMAN}
    own = service.post("/api/v1/translate", {"text": GERMAN, "target_lang": "de"}).value["translations"][0]
    assert (own["text"], own["warnings"]) == (GERMAN, [SAID])


def test_a_segment_of_a_document_in_the_target_language_stays() -> None:
    with running({"one": carrying()}) as one:
        sent = send(one, GERMAN.encode(), path="/translate_file", source="auto", target="de").value
        assert one.get(urlsplit(sent["translatedFileUrl"]).path).value.decode() == GERMAN
