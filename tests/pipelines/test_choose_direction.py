"""What a text is in decides where nothing is said."""

import random

import pytest

from limelight.config import Direction
from limelight.errors import UserError
from limelight.pipelines.job import choose_direction
from limelight.text.detection import learn_detector

DIRECTIONS = [Direction(*pair) for pair in (("en", "de"), ("en", "fr"), ("de", "en"), ("fr", "en"))]
WORDS = {"en": "the dog runs through that", "de": "der Hund läuft durch das", "fr": "le chien court à travers cela"}


def detector():
    draw = random.Random(3)
    texts = {name: [" ".join(draw.choices(words.split(), k=5)) for _ in range(200)] for name, words in WORDS.items()}
    return learn_detector(texts)


def test_the_language_of_the_text_is_taken_where_several_fit() -> None:
    told = detector()
    for text, source in (("der Hund läuft", "de"), ("le chien court", "fr")):
        direction, sure = choose_direction(DIRECTIONS, told, text, target="en")
        assert direction == (source, "en")
        assert sure == told.probabilities(text)[source] > 0.8
    assert choose_direction(DIRECTIONS, told, "der Hund läuft").direction == ("de", "en")


def test_only_languages_that_fit_are_chosen_however_sure_the_detector_is() -> None:
    direction, sure = choose_direction(DIRECTIONS, detector(), "the dog runs", target="en")
    assert direction is not None
    assert direction.source in ("de", "fr")
    assert sure is not None
    assert sure < 0.2


def test_what_is_said_is_not_detected() -> None:
    told = detector()
    assert choose_direction(DIRECTIONS, told, "der Hund läuft", "fr", "en") == (("fr", "en"), None)
    assert choose_direction(DIRECTIONS, told, "le chien", target="de") == (("en", "de"), None)
    assert choose_direction([Direction("en", "de")], told, "le chien") == (("en", "de"), None)


def test_an_unclear_target_is_told() -> None:
    with pytest.raises(UserError, match="from en fits 2 of them"):
        choose_direction(DIRECTIONS, detector(), "the dog runs through that")
    with pytest.raises(UserError, match="to en fits 2 of them"):
        choose_direction(DIRECTIONS, None, "der Hund", target="en")
    with pytest.raises(UserError, match="does not translate to nl"):
        choose_direction(DIRECTIONS, detector(), "der Hund", target="nl")
