"""Placeholders, tags and addresses in plain text come through unchanged, in every dialect."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from limelight.serving.links import Loading, Task
from limelight.storage.layout import DEFAULT, bundled_models
from tests.serving.helpers import Running, carrying, running
from tests.serving.test_engine import worked

TOKENS = ["[X12X]", "[X7X]", "@@PH1@@", "{0}", "{name}", "%s", "%(n)s", "${x}", "<b>", "https://a.org/b?c=d", "i@b.org"]
SENTENCES = [
    "Delete {} files?",
    "The file {} was not found.",
    "Please send {} to {}.",
    "{} of {} items are selected.",
    "Open {}, then close {}. The window {} stays open.",
    "You have {} new messages.",
    "Welcome back, {}!",
    "Click {} to go on.",
]


def texts() -> list[tuple[str, list[str]]]:
    """Texts, and the tokens in each."""
    found, place = [], 0
    for number in range(64):
        sentence = SENTENCES[number % len(SENTENCES)]
        count = sentence.count("{}")
        tokens = [TOKENS[(place + each) % len(TOKENS)] for each in range(count)]
        place += count
        found.append((sentence.format(*tokens), tokens))
    return found


@pytest.fixture(scope="module")
def bundled() -> Iterator[Running]:
    with running({"box": Loading(str(bundled_models()[DEFAULT]))}) as one:
        yield one


def own(service: Running, text: str, **more: Any) -> str:
    asked = {"text": text, "source_lang": "en", "target_lang": "de", **more}
    return service.post("/api/v1/translate", asked).value["translations"][0]["text"]


def deepl(service: Running, text: str) -> str:
    asked = {"text": [text], "source_lang": "EN", "target_lang": "DE"}
    return service.post("/v2/translate", asked).value["translations"][0]["text"]


def libretranslate(service: Running, text: str) -> str:
    return service.post("/translate", {"q": text, "source": "en", "target": "de"}).value["translatedText"]


def openai(service: Running, text: str) -> str:
    asked = {"model": "box:en-de", "messages": [{"role": "user", "content": text}]}
    return service.post("/v1/chat/completions", asked).value["choices"][0]["message"]["content"]


def lost(text: str, tokens: list[str]) -> list[str]:
    return list((Counter(tokens) - Counter({token: text.count(token) for token in set(tokens)})).elements())


@pytest.mark.parametrize("dialect", [own, deepl, libretranslate, openai])
def test_no_token_is_lost(bundled: Running, dialect: Callable[[Running, str], str]) -> None:
    assert sum(len(tokens) for _, tokens in texts()) >= 352 / 4, "352 in all four dialects"
    assert [text for text, tokens in texts() if lost(dialect(bundled, text), tokens)] == []


def test_control_without_protection_some_are_lost(bundled: Running) -> None:
    text, tokens = "@@PH1@@ of @@PH22@@ items: ${total_count}", ["@@PH1@@", "@@PH22@@", "${total_count}"]
    assert lost(own(bundled, text, protect=False, guards=False), tokens)
    assert not lost(own(bundled, text, guards=False), tokens)


def test_what_a_stream_shows_has_spans_and_no_marks() -> None:
    one = carrying()
    one.knows_placeholders = True
    asked = {"source_lang": "en", "target_lang": "de"}
    *shown, last = worked(one, [Task(1, "translate", ["the lamp {x} hums %s"], asked, stream=True)])
    assert {"{x}", "%s"} <= set(re.findall(r"\{x\}|%s", last.value[0]["text"]))
    assert shown
    assert not any("\U000f0000" <= sign <= "\U000f001f" for each in shown for sign in each.value[1])
