"""Damage is made by encoding and decoding otherwise, and clean text has none."""

import pytest

from limelight.text.clean import encoding_damage

TEXTS = {
    "de": "Die Brücke über den Fluß ist größer, „als“ man glaubt – und schöner …",
    "fr": "« Été » : c’est l’œuvre où l’âme a froid, à côté ; ça coûte 5 €.",
    "es": "¿Qué año? ¡Mañana, señor! ESPAÑA",
    "pl": "Zażółć gęślą jaźń",
    "pt": "NÃO SÃO ÂNGULOS, AÇÃO",
    "ru": "Съешь же ещё этих мягких французских булок",
    "en": "Is it so? Yes, e.g. https://a.example/x?y=z&ab=cd and a/b?c or what?ever=1",
}


@pytest.mark.parametrize("language", TEXTS)
def test_clean_text_is_clean(language: str) -> None:
    assert encoding_damage(TEXTS[language]) == ""


@pytest.mark.parametrize("language", ["de", "fr", "es", "pl", "ru"])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_text_in_another_encoding_is_damaged(language: str, encoding: str) -> None:
    assert encoding_damage(TEXTS[language].encode().decode(encoding, "replace"))


def test_lost_characters_are_damage() -> None:
    assert encoding_damage("sch\ufffdn")
    assert encoding_damage("Die Br?cke ist gr??er")
    assert encoding_damage("犬" * 200_000) == ""  # minutes in quadratic time
