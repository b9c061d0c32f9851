"""Text in a language that a model does not know."""

import pytest

from limelight.text.judge import CLEAR, foreign_language

KNOWN = ("en", "de", "fr")


def test_a_text_is_refused_only_where_it_is_clear() -> None:
    for text in ("Even men sometimes cry.", "A man in a hat enjoys a beer."):
        assert foreign_language(text, ["en"])[1] < CLEAR
    assert foreign_language("No sé dónde están los otros, pero todos tienen hambre.", KNOWN)[1] >= CLEAR


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("¿Dónde está la estación?", "es"),
        ("Non so dove sono gli altri, ma tutti hanno fame.", "it"),
        ("We moeten vandaag nog met hem praten.", "nl"),
        ("Nie wiem, gdzie są moje książki.", "pl"),
        ("Bugün çok güzel bir gün.", "tr"),
        ("Я не знаю, где мои книги.", "ru"),
        ("我不知道我的书在哪里。", "zh"),
        ("私の本はどこですか。", "ja"),
        ("Δεν ξέρω πού είναι.", "el"),
    ],
)
def test_text_in_other_languages_is_recognized(text: str, language: str) -> None:
    assert foreign_language(text, KNOWN)[0] == language
    assert foreign_language(text, [*KNOWN, language]) == ("", 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "Where is the station?",
        "I've told him that we can't come.",
        "Ich weiß nicht, wo meine Bücher sind.",
        "Sa famille a émigré aux États-Unis.",
        "She lives in São Paulo and works for Señor Núñez.",
        "kubectl apply -f configmap.yaml",
        "",
        "Привет means hello in the language of our neighbors.",
    ],
)
def test_known_languages_names_and_code_are_not_foreign(text: str) -> None:
    assert foreign_language(text, KNOWN) == ("", 0.0)


def test_a_known_language_is_one_of_the_model() -> None:
    assert foreign_language("Ich weiß nicht, wo meine Bücher sind.", ["en"])[0] == "de"
    assert foreign_language("Ich weiß nicht, wo meine Bücher sind.", ["de-AT"]) == ("", 0.0)


@pytest.mark.parametrize("text", ["¿Dónde está la estación?", "Где вокзал?", "A dog runs.", ""])
def test_nothing_is_foreign_to_languages_without_names(text: str) -> None:
    """A model that was trained without names of languages got an exception for every text (before)."""
    assert foreign_language(text, []) == ("", 0.0)


def test_a_language_without_a_list_has_its_script_only() -> None:
    assert foreign_language("¿Dónde está la estación?", ["en", "zu"]) == ("", 0.0)
    assert foreign_language("Δεν ξέρω πού είναι.", ["en", "af"])[0] == "el"
