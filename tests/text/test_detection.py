"""Detection of languages: what it learns, how sure it is, and what says nothing."""

import math

import numpy as np
import pytest

from limelight.text.detection import BUCKETS, learn_detector

WORDS = {
    "en": "the a house water with this that they were thinking walking through bright morning where children",
    "de": "das ein Haus Wasser mit dieser jene sie waren nachdenklich gehend durch heller Morgen wo Kinder über schön",
    "fr": "la une maison eau avec cette celle elles étaient pensant marchant à travers matin clair où les enfants",
}


def texts(language: str, seed: int, count: int = 300) -> list[str]:
    random, words = np.random.default_rng(seed), WORDS[language].split()
    return [" ".join(random.choice(words, size=random.integers(1, 8))) for _ in range(count)]


DETECTOR = learn_detector({language: texts(language, seed=1) for language in WORDS})


@pytest.mark.parametrize("language", WORDS)
def test_it_knows_the_languages_it_learned(language: str) -> None:
    found = [next(iter(DETECTOR.probabilities(text))) for text in texts(language, seed=2)]
    assert found.count(language) >= 0.99 * len(found)


def test_probabilities_come_from_the_likeliest_down() -> None:
    found = DETECTOR.probabilities("children walking durch the morning")
    assert set(found) == set(WORDS)
    assert sum(found.values()) == pytest.approx(1, abs=0.01)
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize("text", ["", "!!! 123", "你好，世界", "Привет мир", "\ud800"])
def test_what_has_no_known_letter_says_nothing(text: str) -> None:
    assert list(DETECTOR.probabilities(text).values()) == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("text", ["kvöldmatur", "szczęście zwykły", "onko sinulla nälkä", "giriş yapmak istiyorum"])
def test_what_no_language_has_learned_is_in_none_of_them(text: str) -> None:
    assert sum(DETECTOR.probabilities(text).values()) < 0.2
    without = DETECTOR._replace(other=-math.inf)
    assert sum(without.probabilities(text).values()) == pytest.approx(1)
    assert next(iter(without.probabilities(text))) == next(iter(DETECTOR.probabilities(text)))


def test_it_is_a_function_of_text_and_seed() -> None:
    again = learn_detector({language: texts(language, seed=1) for language in WORDS})
    assert np.array_equal(again.scores, DETECTOR.scores)
    assert again.temperature == DETECTOR.temperature
    assert DETECTOR.scores.shape == (3, BUCKETS)
    assert DETECTOR.scores.dtype == np.uint8


@pytest.mark.parametrize("given", [{}, {"en": ["one"]}, {"en": ["one"], "de": []}])
def test_one_language_is_none_to_choose_from(given: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match="at least two languages with text"):
        learn_detector(given)
