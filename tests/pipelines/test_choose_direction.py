"""What a text is in decides where nothing is said."""

import random

import pytest

from limelight.config import Direction
from limelight.errors import UserError
from limelight.pipelines.codec import unchanged
from limelight.pipelines.translator import Translator
from limelight.text.detection import learn_detector
from tests.decoding.fakes import characters, random_model

DIRECTIONS = [Direction(*pair) for pair in (("en", "de"), ("en", "fr"), ("de", "en"), ("fr", "en"))]
WORDS = {"en": "the dog runs through that", "de": "der Hund läuft durch das", "fr": "le chien court à travers cela"}


def detector():
    draw = random.Random(3)
    texts = {name: [" ".join(draw.choices(words.split(), k=5)) for _ in range(200)] for name, words in WORDS.items()}
    return learn_detector(texts)


def telling(told) -> Translator:
    translator = Translator(random_model(3, 11), characters(), directions=DIRECTIONS)
    translator.detector = told
    return translator


def test_the_language_of_the_text_is_taken_where_several_fit() -> None:
    told = detector()
    for text, source in (("der Hund läuft", "de"), ("le chien court", "fr")):
        direction, sure = telling(told).choose(text, None, "en")
        assert direction == (source, "en")
        assert sure == told.probabilities(text)[source] > 0.8
    assert telling(told).choose("der Hund läuft", None, None).direction == ("de", "en")


def test_an_unclear_target_is_told() -> None:
    with pytest.raises(UserError, match="from en fits 2 of them"):
        telling(detector()).choose("the dog runs through that", None, None)
    with pytest.raises(UserError, match="to en fits 2 of them"):
        telling(None).choose("der Hund", None, "en")
    with pytest.raises(UserError, match="does not translate to nl"):
        telling(detector()).choose("der Hund", None, "nl")


@pytest.mark.parametrize(
    ("text", "target", "language"),
    [
        ("the dog runs through that", "de", ""),
        ("der Hund läuft durch das", "en", ""),
        ("der Hund läuft durch das", "de", "de"),
        ("le chien court à travers cela", "de", "fr"),
        ("the dog runs through that", "en", "en"),
        ("¿Dónde está la estación?", "en", "es"),
        ("das", "de", ""),
    ],
)
def test_a_text_in_another_language_than_the_source_language_is_noticed(text: str, target: str, language: str) -> None:
    translator = telling(detector())
    direction, _ = translator.choose(text, None, target, pivot=False)
    assert translator.other_language(text, direction) == language


def test_a_text_in_the_target_language_comes_back_unchanged_and_others_with_a_warning() -> None:
    direction = Direction("en", "de")
    found = unchanged("das ist es", "de-AT", direction)
    assert found is not None
    assert (found.text, found.source_lang) == ("das ist es", "de")
    assert found.warnings == ("already in target language",)
    assert unchanged("das ist es", "es", direction) is None
    assert unchanged("das ist es", "", direction) is None
    translator = Translator(random_model(3, 11), characters(), directions=[direction])
    translated = translator.translate("¿Dónde está la estación?", target_lang="de", lines=True)
    assert translated.warnings[0] == "source language: es"
    named = translator.translate("¿Dónde está la estación?", source_lang="en", target_lang="de", lines=True)
    assert "source language: es" not in named.warnings


@pytest.mark.parametrize("text", ["Ich weiß nicht, wo meine Bücher sind.", "--- *** ---"])
def test_a_prefix_begins_every_translation(text: str) -> None:
    translator = Translator(random_model(3, 11), characters(), directions=[Direction("en", "de")])
    assert translator.translate(text, target_lang="de", prefix="abc").text.startswith("abc")


@pytest.mark.parametrize("guards", [True, False])
def test_nothing_is_examined_without_guards_or_with_a_source_language(guards: bool) -> None:
    translator = Translator(random_model(3, 11), characters(), directions=[Direction("en", "de")])
    text = "Ich weiß nicht, wo meine Bücher sind."
    found = translator.translate(text, target_lang="de", guards=guards, lines=True)
    assert (found.text == text, "already in target language" in found.warnings) == (guards, guards)
    assert translator.translate(text, source_lang="en", target_lang="de", guards=guards, lines=True).text != text
