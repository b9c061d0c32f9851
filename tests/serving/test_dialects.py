"""What each dialect's clients send and expect, field by field."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from limelight.pipelines.options import Options
from limelight.pipelines.translator import Translator
from tests.serving.helpers import Running, carrying, running, table, translator

ONE, TWO, BACK = translator(table(1)), translator(table(2), "en", "pt"), translator(table(3), "de", "en")


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": ONE, "two": TWO, "back": BACK}) as started:
        yield started


# ---- DeepL


def test_deepl_translates_json_and_forms(service: Running) -> None:
    expected = [ONE.translate(text).text for text in ("dab", "face")]
    body = {"text": ["dab", "face"], "target_lang": "DE", "source_lang": "EN"}
    answer = service.post("/v2/translate", body)
    assert answer.value == {"translations": [{"detected_source_language": "EN", "text": text} for text in expected]}
    form = service.post(
        "/v2/translate", "text=dab&text=face&target_lang=DE", **{"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert form.value == answer.value
    assert len(answer.headers["x-trace-id"]) == 16


def test_deepl_counts_characters_where_it_is_asked_to(service: Running) -> None:
    body = {"text": ["dab"], "target_lang": "DE", "show_billed_characters": True, "model_type": "latency_optimized"}
    (translation,) = service.post("/v2/translate", body).value["translations"]
    assert (translation["billed_characters"], translation["model_type_used"]) == (3, "latency_optimized")
    before = service.get("/v2/usage").value["character_count"]
    service.post("/v2/translate", body)
    usage = service.get("/v2/usage").value
    assert usage["character_count"] == before + 3
    assert usage["character_limit"] > 10**9


def test_deepl_lists_english_and_portuguese_targets_by_region(service: Running) -> None:
    sources = service.get("/v2/languages?type=source").value
    assert [each["language"] for each in sources] == ["EN", "DE"]
    targets = service.get("/v2/languages?type=target").value
    assert [each["language"] for each in targets] == ["DE", "PT-BR", "PT-PT", "EN-GB", "EN-US"]
    in_body = service.send("GET", "/v2/languages", "type=target", {"Content-Type": "application/x-www-form-urlencoded"})
    assert in_body.value == targets
    assert all(each["supports_formality"] is False for each in targets)
    for target in ("EN-US", "EN-GB", "en"):
        assert service.post("/v2/translate", {"text": ["a"], "target_lang": target}).status == 200


def test_every_api_takes_the_form_of_address_from_a_variant_of_a_language() -> None:
    """Weblate has languages such as `de@informal`; a glossary for one is a glossary for German."""
    one = translator(table(1))
    asked: list[str] = []

    def options(**given: Any) -> Options:
        asked.append((given["target_lang"], given.pop("formality", None)))
        return Translator.options(one, **given)

    one.options = options  # type: ignore[method-assign]
    one.has_formality = lambda target: target == "de"  # type: ignore[method-assign]
    with running({"one": one}) as service:
        targets = service.get("/v2/languages?type=target").value
        assert [each["supports_formality"] for each in targets] == [True]
        known = service.get("/v3/languages?resource=translate_text").value
        assert [each["lang"] for each in known if "formality" in each["features"]] == ["DE"]
        strings = {"source_language": "en", "target_language": "de@formal", "strings": [{"source": "dab", "parts": []}]}
        chat = {"model": "one", "messages": [{"role": "user", "content": json.dumps(strings)}]}
        sent = {
            "/v2/translate": {"text": ["dab"], "target_lang": "DE@INFORMAL"},
            "/translate": {"q": "dab", "source": "en", "target": "de_formal"},
            "/api/v1/translate": {"text": "dab", "target_lang": "de_DE@informal"},
            "/v1/chat/completions": chat,
        }
        for path, body in sent.items():
            assert service.post(path, body).status == 200, path
        assert asked == [("de", f"prefer_{form}") for form in ("informal", "formal", "informal", "formal")]
        refused = service.post("/v2/translate", {"text": ["dab"], "target_lang": "de@polite"})
        assert (refused.status, "de@polite is not supported" in refused.value["message"]) == (400, True)


@pytest.mark.parametrize(
    ("changed", "status", "says"),
    [
        ({"target_lang": "XX"}, 400, "XX is not supported"),
        ({"source_lang": "PT"}, 400, "PT"),
        ({"target_lang": None}, 400, "target_lang"),
        ({"text": None}, 400, "text"),
        ({"text": []}, 400, "text"),
        ({"text": [1]}, 400, "text[0]"),
        ({"formality": "more"}, 400, "formality=formal: this model cannot choose"),
        ({"formality": "rude"}, 400, "formality"),
        ({"glossary_id": "x", "source_lang": "EN"}, 404, "Glossary"),
        ({"split_sentences": "2"}, 400, "split_sentences"),
    ],
)
def test_deepl_errors_are_strings(service: Running, changed: dict, status: int, says: str) -> None:
    body = {"text": ["dab"], "target_lang": "DE", **changed}
    answer = service.post("/v2/translate", {key: value for key, value in body.items() if value is not None})
    assert answer.status == status
    assert says in answer.value["message"]
    assert all(isinstance(value, str) for value in answer.value.values())


def test_empty_fields_may_be_null_and_numbers_stand_for_words(service: Running) -> None:

    def status(path: str, body: dict) -> int:
        content = json.dumps(body).encode()  # the document describes what is sent, and not these forms
        return service.send("POST", path, content, {"Content-Type": "application/json"}).status

    libre = {"q": "dab", "source": "en", "target": "de", "format": None, "alternatives": None, "api_key": None}
    assert status("/translate", libre) == 200
    deepl = dict.fromkeys(["split_sentences", "show_billed_characters", "outline_detection", "ignore_tags", "context"])
    for more in (deepl, {"split_sentences": 0}, {"split_sentences": True}, {"split_sentences": "0"}):
        assert status("/v2/translate", {"text": ["dab"], "target_lang": "DE", **more}) == 200, more
    assert status("/v2/translate", {"text": ["dab"], "target_lang": "DE", "split_sentences": 2}) == 400


# ---- LibreTranslate


def test_libretranslate_takes_json_forms_and_queries(service: Running) -> None:
    expected = {"translatedText": ONE.translate("dab").text}
    asked = "q=dab&source=en&target=de"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert service.post("/translate", {"q": "dab", "source": "en", "target": "de", "format": "text"}).value == expected
    assert service.post("/translate", asked, **form).value == expected
    assert service.post(f"/translate?{asked}", None).value == expected


def test_libretranslate_detects_and_gives_alternatives(service: Running) -> None:
    found = ONE.translate("dab", n_best=3)
    body = {"q": ["dab", "dab"], "source": "auto", "target": "de", "alternatives": 2}
    answer = service.post("/translate", body).value
    assert answer["translatedText"] == [found.text] * 2
    assert answer["detectedLanguage"] == [{"confidence": 100.0, "language": "en"}] * 2
    others = list(dict.fromkeys(each.text for each in found.alternatives))
    assert answer["alternatives"] == [others] * 2
    single = service.post("/translate", {**body, "q": "dab"}).value
    assert single == {name: value[0] for name, value in answer.items()}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"q": ""}, "q: "),
        ({"source": ""}, "source: "),
        ({"target": None}, "target: field required"),
        ({"source": "zz"}, "zz is not supported"),
        ({"source": "de", "target": "pt"}, "pt is not available from de"),
        ({"format": "pdf"}, "format: input should be 'text', 'html' or"),
        ({"alternatives": 10_000}, "alternatives must be from 0 to 15"),
        ({"alternatives": -1}, "alternatives"),
    ],
)
def test_libretranslate_errors(service: Running, changed: dict, says: str) -> None:
    answer = service.post("/translate", {"q": "dab", "source": "en", "target": "de", **changed})
    assert answer.status == 400
    assert says in answer.value["error"]


def test_libretranslate_lists_what_there_is(service: Running) -> None:
    assert service.get("/languages").value == [
        {"code": "en", "name": "English", "targets": ["de", "pt"]},
        {"code": "de", "name": "German", "targets": ["en"]},
        {"code": "pt", "name": "Portuguese", "targets": []},
    ]
    assert service.get("/health").value == {"status": "ok"}
    assert service.get("/openapi.json").value["openapi"] == "3.1.0"
    detected = service.post("/detect", {"q": "dab"}).value
    assert {each["language"] for each in detected} == {"en", "de"}
    assert service.post("/detect", {}).status == 400


# ---- our own


def test_own_translates_with_scores_and_alternatives(service: Running) -> None:
    found = ONE.translate("dab", beam_size=4, n_best=2)
    (answer,) = service.post("/api/v1/translate", {"text": "dab", "model": "one", "beam_size": 4, "n_best": 2}).value[
        "translations"
    ]
    (sentence,) = answer["sentences"]
    assert (answer["text"], answer["model"]) == (found.text, "one")
    assert (answer["source_lang"], answer["target_lang"]) == ("en", "de")
    assert (sentence["score"], sentence["tokens"]) == (found.score, list(found.tokens))
    assert [each["text"] for each in sentence["alternatives"]] == [each.text for each in found.alternatives]


# ---- what clients expect besides


def test_weblate_can_save_its_settings_whatever_is_served() -> None:
    """It translates `test` from English to German."""
    body = {"q": ["test"], "source": "en", "target": "de"}
    with running({"two": TWO}) as service:
        assert service.post("/translate", body).value["translatedText"] == ["Test"]
        texts = {"text": ["test"], "source_lang": "en", "target_lang": "de", "formality": "default"}
        assert service.post("/v2/translate", texts).value["translations"][0]["text"] == "Test"
        chat = {"model": "two", "messages": [{"role": "user", "content": "Translate from English to German:\ntest"}]}
        assert service.post("/v1/chat/completions", chat).value["choices"][0]["message"]["content"] == "Test"
        assert service.post("/translate", {**body, "q": ["dab"]}).status == 400
        assert service.post("/translate", {**body, "q": ["test", "test"]}).status == 400


def test_a_language_has_the_codes_that_clients_have_for_it() -> None:
    one = translator(table(1), "en", "he")
    with running({"one": one}) as service:
        english, _ = service.get("/languages").value
        assert english["targets"] == ["he"]
        for code in ("he", "iw", "he-IL"):
            answer = service.post("/translate", {"q": "dab", "source": "en", "target": code})
            assert answer.value["translatedText"] == one.translate("dab").text


def test_omegat(service: Running) -> None:
    answer = service.get("/omegat?source=en-US&target=de-DE&text=dab")
    assert answer.value == {"translation": ONE.translate("dab").text}
    assert service.get("/omegat?source=auto&target=pt-BR&text=").value == {"translation": ""}
    assert "text" in service.get("/omegat?source=en&target=de").value["error"]


MARKDOWN = "# dab\n\nface **dab** and `dab`\n\n```\nface\n```\n"


def test_markdown_keeps_its_markup() -> None:
    """Nonsense around it: the model is random."""
    with running({"one": carrying()}) as service:
        libre = service.post("/translate", {"q": MARKDOWN, "source": "en", "target": "de", "format": "markdown"})
        own = service.post("/api/v1/translate", {"text": MARKDOWN, "tag_handling": "markdown"})
        text = libre.value["translatedText"]
        assert own.value["translations"][0]["text"] == text
        assert text.startswith("# ")
        assert text.count("**") == 2
        assert text.count("`dab`") == 1
        assert text.endswith("\n\n```\nface\n```\n")
        assert text != MARKDOWN
        named = service.post("/api/v1/translate", {"text": "a", "tag_handling": "markdown", "ignore_tags": ["x"]})
        assert "only for xml and html" in named.value["error"]["message"]
        wrong = service.post("/translate", {"q": "a", "source": "en", "target": "de", "format": "rst"})
        assert "format: input should be" in wrong.value["error"]
