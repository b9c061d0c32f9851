"""What programs that translate through chat completions send: Weblate, Nextcloud, and people's own prompts."""

import json
import time
from typing import Any

import pytest

from limelight.serving.dialects.prompts import read_prompt
from limelight.serving.refusal import Refusal

TEXT = "A dog runs."


@pytest.mark.parametrize(
    ("prompt", "source", "target"),
    [
        (f"Translate to German: {TEXT}", "", "de"),
        (f"Translate the following text into French:\n\n{TEXT}", "", "fr"),
        (f"Translate the following text from English to German: \n\n{TEXT}", "en", "de"),
        (f"Translate the following text from English (US) to Deutsch (Persönlich: Du): \n\n{TEXT}", "en", "de"),
        (f"Translate the following text from Bahasa Indonesia to Ελληνικά: \n\n{TEXT}", "id", "el"),
        (f"Please translate this into German:\n{TEXT}", "", "de"),
        (f"Translate the following English text to French. Keep the format.\n\n{TEXT}", "", "fr"),
        (f"Translate from en to de_AT: {TEXT}", "en", "de_AT"),
        (f"Translate the following segment into German, without additional explanation.\n\n{TEXT}", "", "de"),
        (f"Translate the source text below to German.\nSource Text: {TEXT}\nTranslated Text:", "", "de"),
        (f"Translate to Simplified Chinese (output translation only):\n\n{TEXT}", "", "zh"),
    ],
)
def test_an_instruction_is_obeyed_and_not_translated(prompt: str, source: str, target: str) -> None:
    found = read_prompt("You are helpful.", prompt)
    assert (found.texts, found.source, found.targets) == ((TEXT,), source, (target,))


@pytest.mark.parametrize(
    "text",
    [
        "Translate this sentence.",
        "Translate to German",
        "Translate the page to German.",
        "Translate to German. It is easy!\n\nOur tool does it.",
        "Translate documents to German: our tool",
        "A dog. Translate to German: x",
        "Translate the following to me: x",
        "[1, 2]",
        "[not JSON",
        '{"a": {"b": 7}}',
    ],
)
def test_what_only_looks_like_one_is_text(text: str) -> None:
    found = read_prompt("", text)
    assert (found.texts, found.targets, found.form) == ((text,), (), None)


@pytest.mark.parametrize(
    ("system", "source", "targets"),
    [
        ("Translate to French.", "", ("fr",)),
        ("You are a translator from English to German.", "en", ("de",)),
        ("You are an English-to-German translator.", "", ("de",)),
        ("Translate the user's message into German. Say nothing else.", "", ("de",)),
        ("You translate text\nfrom language 'en'\nto language 'pt_BR'\nwith precision.", "en", ("pt_BR",)),
        ("You translate text\nfrom language 'en'\nto language 'de@formal'\nwith precision.", "en", ("de-formal",)),
        ("You translate text\nfrom language 'en'\nto language 'de_AT@formal'\nwith care.", "en", ("de_AT-formal",)),
        ("Target language: de", "", ("de",)),
        ("Translate English to French and French to English.", "", ("fr", "en")),
        ("Translate from French (Canada) into Brazilian Portuguese.", "fr", ("pt",)),
        ("Be nice to German people. Translate.", "", ()),
        ("Translate it to it. Keep placeholders as they are to Weblate.", "", ()),
        ("You are helpful.", "", ()),
    ],
)
def test_languages_of_the_system_message(system: str, source: str, targets: tuple[str, ...]) -> None:
    found = read_prompt(system, TEXT)
    assert (found.texts, found.source, found.targets) == ((TEXT,), source, targets)


def test_the_instruction_of_the_user_comes_before_that_of_the_system() -> None:
    assert read_prompt("Translate to French.", f"Translate to German: {TEXT}").targets == ("de",)


@pytest.mark.parametrize(
    ("system", "text"), [("Translate the text to Klingon.", TEXT), ("", f"Translate to Klingon: {TEXT}")]
)
def test_an_unknown_language_is_refused(system: str, text: str) -> None:
    with pytest.raises(Refusal, match="Klingon"):
        read_prompt(system, text)


def test_strings_of_weblate() -> None:
    strings: list[dict[str, Any]] = [
        {"source": "Hello @@PH6@@!", "parts": [{"type": "text", "text": "Hello "}], "context": "greeting"},
        {"source": "Save", "translation": "Speicher"},
    ]
    glossary = [{"source": "lamp", "target": "Leuchte", "flags": ["terminology"]}, {"source": "x"}, {"source": ""}]
    message = {"source_language": "en", "target_language": "de", "glossary": glossary, "strings": strings}
    found = read_prompt("Translate.", json.dumps(message))
    assert found.texts == ("Hello @@PH6@@!", "Save")
    assert (found.source, found.targets, found.terms) == ("en", ("de",), (("lamp", "Leuchte"),))
    assert found.value(["a", "b"]) == ["a", "b"]


def test_parts_between_separators() -> None:
    text = "one\n==WEBLATE_PART==\ntwo\r\n ==WEBLATE_PART== \nthree"
    system = "Translate. Use the following glossary during the translation:\na lamp\tLeuchte\ttrue\nx\ty\n\nMore."
    found = read_prompt(system, text)
    assert found.texts == ("one", "two", "three")
    assert found.value(["1", "2", "3"]) == "1\n==WEBLATE_PART==\n2\n==WEBLATE_PART==\n3"
    assert found.terms == (("a lamp", "Leuchte"), ("x", "y"))


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"strings": "a lamp"}, "strings: input should be a valid list"),
        ({"strings": ["a lamp"]}, r"strings\[0\]: input should be an object"),
        ({"strings": None, "text": "a lamp"}, "strings: input should be a valid list"),
        ({"glossary": 7}, "glossary: input should be a valid list"),
        ({"glossary": {"lamp": "Leuchte"}}, "glossary: input should be a valid list"),
        ({"glossary": [["lamp", "Leuchte"]]}, r"glossary\[0\]: input should be"),
        ({"glossary": [{"source": f"w{n}", "target": "x"} for n in range(1001)]}, "1,001 terms, and at most 1,000 are"),
    ],
)
def test_what_is_not_in_the_form_of_weblate_is_refused(changed: dict[str, Any], says: str) -> None:
    """Its texts or its terms would be lost."""
    message = {"target_language": "de", "strings": [{"source": "a lamp"}], **changed}
    with pytest.raises(Refusal, match=says):
        read_prompt("", json.dumps(message))


def test_a_message_of_the_system_that_would_not_be_read_to_its_end_is_refused() -> None:
    rows = "".join(f"a long word of number {number}\tWort {number}\n" for number in range(600))
    with pytest.raises(Refusal, match="more than 20,000 characters"):
        read_prompt(f"Use the following glossary of terms:\n{rows}", TEXT)
    assert len(read_prompt(f"Use the following glossary of terms:\n{rows[:15_000]}\nMore.\n", TEXT).terms) > 300


@pytest.mark.parametrize(
    ("system", "text"),
    [
        ("translate following glossary " * 600, TEXT),
        ("translate " + "a" * 19_000, TEXT),
        ("translate to " * 1500, TEXT),
        ("translate" + " a" * 9000, TEXT),
        (f"translate target language{' ' * 10_000}x", TEXT),
        ("", "translate to " + "a" * 500_000),
        ("", "translate the following" + " text" * 100_000),
        ("", "translate to language" + " " * 500_000),
        ("", "\n" + " " * 500_000 + "\n" * 1000),
        ("", "[" * 500_000),
        ("", f"[{'1' * 500_000}]"),
    ],
)
def test_a_hostile_prompt_takes_no_time(system: str, text: str) -> None:
    started = time.process_time()
    read_prompt(system, text)
    assert time.process_time() - started < 2.0


def test_json_that_is_too_deep_or_has_no_characters_is_text() -> None:
    for text in ('["\\ud800"]', '{"a": "\\udfff"}', "[" * 600 + '"a"' + "]" * 600):
        assert read_prompt("", text).texts == (text,)
    assert read_prompt("", '["\\ud83d\\ude00"]').texts == ("\U0001f600",)
