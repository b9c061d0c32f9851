"""Requests as clients send them of which there is no package to run: written from their sources, in our own words, and
answers read as they read them. The bundled model answers."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

MODEL = "tatoeba-en-de-fr"
PLACES = re.compile(r"@@PH\d+@@")


@pytest.fixture
def url(bundled: str) -> str:
    return bundled


def sent(url: str, path: str, body: Any, kind: str = "application/json") -> Any:
    """The answer to JSON, or to a form."""
    content = json.dumps(body) if kind == "application/json" else urllib.parse.urlencode(body, doseq=True)
    request = urllib.request.Request(f"{url}{path}", content.encode(), {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def said(url: str, system: str, user: str, **more: Any) -> str:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    body = {"model": MODEL, "messages": messages, "temperature": 0, **more}
    return sent(url, "/v1/chat/completions", body)["choices"][0]["message"]["content"]


# ---- Weblate

TEXTS = [
    "Hello, {}!",
    "You have {} new messages in {}.",
    "Could not open the file {}.",
    "Click {}here{} to continue.",
    "The user {} has sent you a message.",
    "Delete {}?",
    "{}",
    "Page {} of {}",
]


def of_weblate(numbers: Iterator[int], start: str, end: str) -> list[str]:
    """Texts with placeholders, whose numbers are their places."""
    return [re.sub(r"\{\}", lambda _: f"{start}{next(numbers)}{end}", text) for text in TEXTS]


def test_weblate_sends_strings_and_reads_an_array(url: str) -> None:
    """It refuses all strings where one has other placeholders than its source."""
    texts = of_weblate(iter(range(5, 100, 7)), "@@PH", "@@")
    strings = [{"source": text, "parts": [{"type": "text", "text": text}], "key": "app.key"} for text in texts]
    message = {
        "source_language": "en",
        "target_language": "de",
        "glossary": [{"source": "message", "target": "Mitteilung", "flags": ["terminology"]}],
        "strings": strings,
    }
    examples = {**message, "strings": [{"source": "Weblate", "parts": []}]}
    system = "You translate. Output is a JSON array, entirely in the target_language."
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": json.dumps(examples)},
        {"role": "assistant", "content": '["Weblate"]'},
        {"role": "user", "content": json.dumps(message)},
    ]
    answer = sent(url, "/v1/chat/completions", {"model": MODEL, "messages": messages})
    found = json.loads(answer["choices"][0]["message"]["content"])
    assert len(found) == len(texts)
    for text, translation in zip(texts, found, strict=True):
        assert Counter(PLACES.findall(translation)) == Counter(PLACES.findall(text)), translation
    assert found[6] == texts[6]
    assert "Mitteilung" in found[4]


@pytest.mark.parametrize(("dialect", "start", "end"), [("deepl", '<x id="', '"></x>'), ("libretranslate", "[X", "X]")])
def test_weblate_sends_batches_with_placeholders(url: str, dialect: str, start: str, end: str) -> None:
    texts = of_weblate(iter(range(5, 100, 7)), start, end)
    if dialect == "deepl":
        body = {"text": texts, "source_lang": "EN", "target_lang": "DE", "formality": "default"}
        answer = sent(url, "/v2/translate", {**body, "tag_handling": "xml", "ignore_tags": ["x"]})
        found = [each["text"] for each in answer["translations"]]
    else:
        found = sent(url, "/translate", {"api_key": "", "q": texts, "source": "en", "target": "de"})["translatedText"]
    places = re.compile(rf"{re.escape(start)}\d+{re.escape(end)}")
    assert [Counter(places.findall(each)) for each in found] == [Counter(places.findall(each)) for each in texts]


# ---- Mastodon and Discourse: HTML

MENTION = (
    '<span class="h-card" translate="no"><a href="https://m.example/@bob" class="u-url mention">'
    "@<span>bob</span></a></span>"
)
HASHTAG = '<a href="https://m.example/tags/dogs" class="mention hashtag" rel="tag">#<span>dogs</span></a>'


def test_mastodon_keeps_mentions_hashtags_and_breaks(url: str) -> None:
    texts = [f"<p>{MENTION} The dog sleeps in the garden.<br />It is tired. {HASHTAG}</p>", "a warning"]
    body = {"q": texts, "source": "auto", "target": "de", "format": "html"}
    answer = sent(url, "/translate", body)
    status, warning = answer["translatedText"]
    assert answer["detectedLanguage"][0]["language"] == "en"
    assert Counter(re.findall("<[^>]*>", status)) == Counter(re.findall("<[^>]*>", texts[0]))
    assert MENTION in status
    assert HASHTAG in status
    assert "Garten" in status
    assert warning


def test_discourse_keeps_code_quotes_and_emoji(url: str) -> None:
    """It detects the language first. Its requests are forms."""
    post = (
        '<p>The cat sleeps. <a class="mention" href="/u/bob">@bob</a></p>\n<pre><code class="lang-py">'
        'print("the cat")\n</code></pre>\n<aside class="quote" data-username="bob"><blockquote>'
        "<p>The dog is in the garden.</p></blockquote></aside>\n"
        '<p>I am tired. <img src="/tired.png" title=":tired:" class="emoji" alt=":tired:"></p>'
    )
    form = "application/x-www-form-urlencoded"
    assert sent(url, "/detect", {"q": "The cat sleeps. The dog is in the garden."}, form)[0]["language"] == "en"
    body = {"q": post, "source": "en", "target": "de", "format": "html"}
    found = sent(url, "/translate", body, form)["translatedText"]
    assert re.findall("<[^>]*>", found) == re.findall("<[^>]*>", post)
    assert '<pre><code class="lang-py">print("the cat")\n</code></pre>' in found
    assert '<a class="mention" href="/u/bob">@bob</a>' in found
    assert "Katze" in found
    assert "Garten" in found
