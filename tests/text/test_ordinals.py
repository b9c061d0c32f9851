"""Ordinals and decades in the form of the language of a translation."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text.number_changes import compare_numbers, put_back_numbers
from limelight.text.ordinals import keeps_ordinals, with_ordinals


@pytest.mark.parametrize(
    ("source", "output", "languages", "right"),
    [
        ("We meet on the 21st.", "Wir treffen uns am 21st.", ("en", "de"), "Wir treffen uns am 21."),
        ("She finished 21st here.", "Sie war 21st hier.", ("en", "de"), "Sie war 21. hier."),
        ("We meet on the 21st.", "Nous nous voyons le 21st.", ("en", "fr"), "Nous nous voyons le 21."),
        ("on the 1st of May", "le 1st mai", ("en", "fr"), "le 1er mai"),
        ("on the 2nd of May", "le 2nd mai", ("en", "fr"), "le 2 mai"),
        ("the 3rd floor", "le 3rd étage", ("en", "fr"), "le 3e étage"),
        ("on 21st September", "am 21st September", ("en", "de"), "am 21. September"),
        ("born in the 80s", "in den 80s geboren", ("en", "de"), "in den 80ern geboren"),
        ("I like the 1980s.", "Ich mag die 1980s.", ("en", "de"), "Ich mag die 1980er."),
        ("born in the 80's", "né dans les 80's", ("en", "fr"), "né dans les années 80"),
        ("in the 20th century", "dans le 20 siècle", ("en", "fr"), "dans le 20e siècle"),
        ("in the 21st century", "au siècle de 21", ("en", "fr"), "au 21e siècle"),
        ("of the 21st century", "du siècle 21 heures.", ("en", "fr"), "du 21e siècle."),
        ("on the 5th floor", "au 5 étage", ("en", "fr"), "au 5e étage"),
        ("On the 2nd Peter left.", "Am 2nd Peter ging.", ("en", "de"), "Am 2. Peter ging."),
        ("On the 2nd Peter left.", "Le 2nd Peter partit.", ("en", "fr"), "Le 2 Peter partit."),
        ("on the 10th floor", "im 10 Stock", ("en", "de"), "im 10. Stock"),
        (
            "au 10e étage, dans la 2e rue",
            "im 10 Stock, in der 2 Straße",
            ("fr", "de"),
            "im 10. Stock, in der 2. Straße",
        ),
        (
            "Im 13. Jahrhundert war es so.",
            "In the 13. century it was so.",
            ("de", "en"),
            "In the 13th century it was so.",
        ),
        ("im 13. Jahrhundert", "au 13. siècle", ("de", "fr"), "au 13e siècle"),
        ("Er wurde 2. und froh.", "He was 2. and glad.", ("de", "en"), "He was 2nd and glad."),
        ("Er wurde 1., sie wurde 12..", "He was 1., she was 12..", ("de", "en"), "He was 1st, she was 12th."),
        ("Sie wohnt im 3. Stock.", "She is on the 3. Floor.", ("de", "en"), "She is on the 3rd Floor."),
        ("Am 1. kam er zurück.", "Il revint au 1. avec elle.", ("de", "fr"), "Il revint au 1er avec elle."),
        ("vom 15. bis heute", "du 15. à ce jour", ("de", "fr"), "du 15 à ce jour"),
        ("Elle est arrivée 28e ici.", "She came 28e here.", ("fr", "en"), "She came 28th here."),
        ("la 15e place", "der 15e Platz", ("fr", "de"), "der 15. Platz"),
        ("le 1er étage", "the 1er étage", ("fr", "en"), "the 1st étage"),
        ("la 2ème fois", "das 2ème Mal", ("fr", "de"), "das 2. Mal"),
        ("au 3e étage", "on the 3th floor", ("fr", "en"), "on the 3rd floor"),
        ("im 3. Stock", "on the 3th floor", ("de", "en"), "on the 3rd floor"),
        ("au XXIe siècle", "im XXIe Jahrhundert", ("fr", "de"), "im 21. Jahrhundert"),
        ("au XXIe siècle", "in the XXIe century", ("fr", "en"), "in the 21st century"),
    ],
)
def test_an_ordinal_has_the_form_of_its_language(
    source: str, output: str, languages: tuple[str, str], right: str
) -> None:
    assert keeps_ordinals(source, output, languages)
    assert put_back_numbers(source, output, languages) == right
    assert not keeps_ordinals(source, right, languages)
    assert compare_numbers(source, right, languages) == ((), ())


def test_an_ordinal_that_is_french_too_is_kept() -> None:
    assert not keeps_ordinals("the 2nd quarter", "le 2nd trimestre", ("en", "fr"))
    assert keeps_ordinals("the 3rd quarter", "le 3rd trimestre", ("en", "fr"))


def test_an_ordinal_in_a_name_is_kept() -> None:
    both = "I like 21st Century Fox.", "Ich mag 21st Century Fox."
    assert not keeps_ordinals(*both, ("en", "de"))
    assert put_back_numbers(*both, ("en", "de")) == both[1]


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("the 10th of 10 floors", "das 10 Stock"),
        ("on the 10th", "am 10 Uhr"),
        ("on the 10th", "bis zum 10 gehen"),
        ("the 2nd room", "der 2,5 Raum"),
    ],
)
def test_what_may_be_no_german_ordinal_is_kept(source: str, output: str) -> None:
    assert not keeps_ordinals(source, output, ("en", "de"))


def test_a_french_ordinal_in_a_name_is_kept() -> None:
    assert not keeps_ordinals("J'aime la 5e Avenue.", "I like 5e Avenue.", ("fr", "en"))


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Er ist 28. Sie ist 27.", "He is 28. She is 27."),
        ("er ist 28. sie ist 27.", "he is 28. she is 27."),
        ("1. die Stadt", "1. the city"),
        ("Kapitel 5. ist lang", "Chapter 5. is long"),
        ("am 11. Oktober um acht", "on October 11. at eight"),
        ("Am 28. war er 28. Sie auch.", "On the 28. he was 28. She too."),
        ("Nimm 5... oder 6!", "Take 5... or 6!"),
        ("Aus 10..30 wird 10:30.", "10..30 becomes 10:30."),
        ("im 3. Stock um 13.45 Uhr", "on the 3rd floor at 13.45"),
        ("Er kam als 2. ins Ziel, in 4 Stunden.", "He finished second, in 4. hours"),
    ],
)
def test_what_may_be_no_ordinal_is_kept(source: str, output: str) -> None:
    assert with_ordinals(source, output, ("de", "en")) == output


def test_other_languages_and_numbers_are_not_changed() -> None:
    assert with_ordinals("im 13. Jahrhundert", "nel 13. secolo", ("de", "it")) == "nel 13. secolo"
    assert with_ordinals("im 13. Jahrhundert", "im 13. Jahrhundert", ("de", "de")) == "im 13. Jahrhundert"
    assert with_ordinals("the 21st century", "le siècle de 12 rois", ("en", "fr")) == "le siècle de 12 rois"
    assert with_ordinals("20 centuries", "20 siècle", ("en", "fr")) == "20 siècle"


@pytest.mark.parametrize(("number", "written"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"),
                                                 (12, "12th"), (13, "13th"), (21, "21st"), (101, "101st"),
                                                 (111, "111th"), (112, "112th")])  # fmt: skip
def test_english_endings(number: int, written: str) -> None:
    assert with_ordinals(f"das {number}. Mal und", f"the {number}. time and", ("de", "en")) == f"the {written} time and"


@given(st.text("0123456789. ,;aAéstndrhe-:", max_size=40), st.sampled_from(["en", "de", "fr"]))
def test_a_copy_of_a_text_without_ordinals_is_unchanged(text: str, language: str) -> None:
    assert with_ordinals("17 Hunde", text, (language, "en")) == text
    assert with_ordinals("17 Hunde", text, (language, "fr")) == text


@given(st.text("0123456789. ,;aAéstndrhe-:", max_size=40), st.sampled_from(list(permutations(["en", "de", "fr"], 2))))
def test_what_was_put_right_stays(text: str, languages: tuple[str, str]) -> None:
    once = with_ordinals(text, text, languages)
    assert with_ordinals(text, once, languages) == once
