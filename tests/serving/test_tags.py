"""Texts with tags and terms, in the words of each API: tags exactly once, well-formed, and no others."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from html import unescape

import pytest

from limelight.formats.xml import escape_xml, parse_xml
from limelight.text.glossary import Glossary, Term
from tests.serving.helpers import PHRASES, Running, carrying, running, table, translator

ONE = carrying()


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"one": ONE, "plain": translator(table(1), "fr", "pt")}) as started:
        yield started


def deepl(service: Running, text: str, kind: str = "xml", **more: object) -> str:
    body = {"text": [text], "target_lang": "DE", "source_lang": "EN", "tag_handling": kind, **more}
    answer = service.post("/v2/translate", body)
    assert answer.status == 200, answer.value
    (found,) = answer.value["translations"]
    return found["text"]


def libre(service: Running, text: str) -> str:
    return service.post("/translate", {"q": text, "source": "en", "target": "de", "format": "html"}).value[
        "translatedText"
    ]


def own(service: Running, text: str, kind: str = "html", **more: object) -> dict:
    body = {"text": text, "source_lang": "en", "tag_handling": kind, **more}
    answer = service.post("/api/v1/translate", {**body, "target_lang": "de"})
    assert answer.status == 200, answer.value
    return answer.value["translations"][0]


def tags(text: str) -> list[str]:
    return re.findall("<[^<>]*>", text)


def test_text_is_what_the_translator_makes_of_it(service: Running) -> None:
    """The same protected spans, and the same translation, as everywhere else in Limelight."""
    alone = ONE.translate("the lamp {x} hums", source_lang="en", target_lang="de", protect=True)
    expected = escape_xml(alone.text)
    assert deepl(service, "<p>the lamp {x} hums</p>") == f"<p>{expected}</p>"
    found = own(service, "<p>the lamp {x} hums</p>")
    assert unescape(found["text"]) == f"<p>{alone.text}</p>"
    assert found["sentences"][0]["failed"] == list(alone.failed)


def test_random_tags_come_out_once_and_nested(service: Running, seed: int) -> None:
    draw = random.Random(seed)

    def element(depth: int) -> str:
        parts = []
        for _ in range(draw.randint(1, 3)):
            number = draw.randrange(1000)
            kind = draw.randrange(4) if depth else 0
            if kind < 2:
                parts.append(draw.choice(PHRASES))
            elif kind == 2:
                parts.append(f'<x id="{number}"/>')
            else:
                parts.append(f'<b n="{number}">{element(depth - 1)}</b>')
        return draw.choice(["", " "]).join(parts)

    texts = [element(3) for _ in range(12)]
    more = {"outline_detection": False} if draw.random() < 0.5 else {}
    body = {"text": texts, "target_lang": "DE", "tag_handling": "xml", "source_lang": "EN", **more}
    answer = service.post("/v2/translate", body)
    for text, found in zip(texts, answer.value["translations"], strict=True):
        parse_xml(f"<r>{found['text']}</r>")
        assert Counter(tags(found["text"])) == Counter(tags(text))
    for text in texts:
        assert Counter(tags(libre(service, text))) == Counter(tags(text))


def test_ignored_text_does_not_change(service: Running) -> None:
    text = 'the <x id="1">lamp &amp; {y}</x> hums <keep>press it</keep> now'
    found = deepl(service, text, ignore_tags=["x", "keep"])
    for kept in ('<x id="1">lamp &amp; {y}</x>', "<keep>press it</keep>"):
        assert found.count(kept) == 1
    body = f"text={text.replace('&', '%26')}&target_lang=DE&tag_handling=xml&ignore_tags=x,keep&source_lang=EN"
    form = service.post("/v2/translate", body, **{"Content-Type": "application/x-www-form-urlencoded"})
    assert form.value["translations"][0]["text"] == found
    page = '<p translate="no">the lamp</p><script>a < "b";</script><p class="notranslate">it</p><code>x</code>'
    assert libre(service, page) == page


def test_markup_of_the_translation_is_the_markup_of_the_source(service: Running) -> None:
    """What the model says is escaped; what is a character of the source is one for the model."""
    for text in ("<p>the lamp &lt;b&gt; hums &amp; it</p>", "<p>a &quot;name&quot; &#60; here</p>"):
        found = deepl(service, text)
        parse_xml(found)
        assert tags(found) == ["<p>", "</p>"]
        assert tags(libre(service, text)) == ["<p>", "</p>"]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"text": ["<b>it"]}, "the tags of the text:1: "),
        ({"text": ["it & it"]}, "not well-formed"),
        ({"text": ["<b/>" * 3000 + "it"]}, "2000 tags"),
        ({"tag_handling": "pdf"}, "tag_handling"),
        ({"tag_handling": None, "ignore_tags": ["x"]}, "only for xml and html"),
        ({"tag_handling": None, "splitting_tags": "x"}, "only for xml and html"),
        ({"ignore_tags": [7]}, "ignore_tags"),
        ({"ignore_tags": ["x" * 200]}, "ignore_tags"),
        ({"ignore_tags": ["x"] * 200}, "ignore_tags"),
        ({"outline_detection": "maybe"}, "outline_detection"),
        ({"style_id": "x"}, "style_id"),
        ({"custom_instructions": ["be kind"]}, "custom_instructions"),
        ({"translation_memory_id": "x"}, "translation_memory_id"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(service: Running, changed: dict, says: str) -> None:
    body = {"text": ["<b>it</b>"], "target_lang": "DE", "source_lang": "EN", "tag_handling": "xml", **changed}
    answer = service.post("/v2/translate", {key: value for key, value in body.items() if value is not None})
    assert answer.status == 400
    assert says in answer.value["message"]


def test_a_model_without_placeholders_says_so(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tags are placed by attention; what the model itself has to carry is refused."""
    monkeypatch.setattr("limelight.pipelines.codec.knows_marks", lambda _tokenizer: False)
    assert tags(deepl(service, "the <b>lamp</b> hums {x}")) == ["<b>", "</b>"]
    body = {"text": "the <x>lamp</x> hums", "target_lang": "DE", "source_lang": "EN", "tag_handling": "xml"}
    answer = service.post("/v2/translate", {**body, "ignore_tags": ["x"]})
    assert answer.status == 400
    assert "placeholders" in answer.value["message"]


def test_only_plain_text_has_a_prefix_and_is_streamed(service: Running) -> None:
    for more in ({"prefix": "a"}, {"stream": True}, {"n_best": 2}):
        for kind in ({"tag_handling": "html"}, {"terms": [{"source": "lamp", "target": "Leuchte"}]}):
            answer = service.post(
                "/api/v1/translate", {"text": "it", "source_lang": "en", "target_lang": "de", **kind, **more}
            )
            assert answer.status == 400
            assert next(iter(more)) in answer.value["error"]["message"]


def test_terms_of_a_request_are_used(service: Running) -> None:
    terms = [{"source": "lamp", "target": "Leuchte"}, {"source": "dog", "target": "Köter"}]
    for text in ("the lamp hums. it is the dogs", "the <b>lamp</b> hums"):
        kind = "html" if "<" in text else ""
        found = own(service, text, kind, terms=terms)
        assert "Leuchte" in found["text"]
        assert ("Köter" in found["text"]) == ("dogs" in text)
    glossary = Glossary([Term("lamp", "Leuchte")], "en")
    alone = ONE.translate("the lamp hums", source_lang="en", target_lang="de", glossary=glossary)
    assert own(service, "the lamp hums", "", terms=terms)["text"] == alone.text
    answer = service.post(
        "/api/v1/translate", {"text": "a", "source_lang": "en", "terms": [{"source": ".", "target": "x"}]}
    )
    assert (answer.status, "the term" in answer.value["error"]["message"]) == (400, True)


def test_lines_are_kept_where_sentences_go_across_them(service: Running) -> None:
    def found(split: str) -> str:
        body = {"text": ["The lamp hums. It\nis a lamp.\n\nA name"], "target_lang": "DE", "source_lang": "EN"}
        return service.post("/v2/translate", {**body, "split_sentences": split}).value["translations"][0]["text"]

    one, two, three = (ONE.translate(text, lines=True).text for text in ("The lamp hums.", "It is a lamp.", "A name"))
    assert found("nonewlines") == f"{one} {two}\n\n{three}"
    assert found("0") == ONE.translate("The lamp hums. It\nis a lamp.\n\nA name", lines=True).text


def test_the_language_is_found_without_the_tags() -> None:
    with running({"en": carrying(), "de": carrying("de", "en")}) as both:
        body = {"text": ["<b>it</b>"], "target_lang": "DE", "tag_handling": "html"}
        assert both.post("/v2/translate", body).value["translations"][0]["detected_source_language"] == "EN"
