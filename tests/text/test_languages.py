"""Languages: what contradicts the text is told where it is sure, and nothing else."""

import unicodedata

import pytest

from limelight.text.judge import contradiction, foreign_language
from limelight.text.languages import normal_code

TEXTS = {
    "en": "The dog that we saw in the garden was not with the children. It is for you, and they have the key to it.",
    "de": "Der Hund, den wir im Garten sahen, war nicht bei den Kindern. Es ist für dich, und sie haben die Schlüssel.",
    "fr": "Le chien que nous avons vu dans le jardin ne jouait pas avec les enfants. Elle est au marché.",
    "es": "El perro que vimos en el jardín no estaba con los niños. Es para ti, y la llave de la casa se ha perdido.",
    "nl": "De hond die we in de tuin zagen was niet bij de kinderen. Het is voor jou, en zij hebben de sleutel.",
    "it": "Il cane che è nel giardino non gioca con i bambini. La chiave della casa è sul tavolo, ma non si apre.",
    "sv": "Hunden som vi såg i trädgården var inte med barnen. Det är för dig, och de har nyckeln till ett hus.",
    "pl": "Pies, który jest w ogrodzie, nie bawi się z dziećmi. To jest dla ciebie, ale nie ma już klucza do domu.",
    "ru": "Собака, которая была в саду, не играла с детьми. Это для тебя, а ключ от дома у него, но он не пришёл.",
    "el": "Ο σκύλος που είδαμε στον κήπο δεν έπαιζε με τα παιδιά.",
    "ja": "庭で見た犬は子供たちと遊んでいなかった。これはあなたのためのものです。",
    "zh": "我们在花园里看到的那只狗没有和孩子们一起玩。这是给你的钥匙。",
    "ko": "정원에서 본 개는 아이들과 놀고 있지 않았다. 이것은 너를 위한 것이다.",
}
SAMPLES = {code: [text] * 40 for code, text in TEXTS.items()}


@pytest.mark.parametrize("code", SAMPLES)
def test_no_language_contradicts_itself_and_all_the_others_do(code: str) -> None:
    assert {other: bool(contradiction(sample, code)) for other, sample in SAMPLES.items()} == {
        other: other != code for other in SAMPLES
    }


def test_decomposed_letters_are_the_same() -> None:
    decomposed = [unicodedata.normalize("NFD", text) for text in SAMPLES["pl"]]
    assert contradiction(decomposed, "pl") == ""
    assert contradiction(decomposed, "en") == "looks like pl"


@pytest.mark.parametrize("code", ["source", "lumi", "xx", "eo", "cy", ""])
def test_of_other_languages_in_the_same_script_nothing_is_known(code: str) -> None:
    assert contradiction(SAMPLES["en"], code) == ""


def test_little_text_says_nothing() -> None:
    assert contradiction(["Der Hund ist im Garten."], "en") == ""
    assert contradiction(["Ja!"] * 3, "ru") == ""
    assert contradiction([], "de") == ""
    assert contradiction(["1234 5678 90"] * 100, "de") == ""


def test_words_of_no_language_say_nothing() -> None:
    assert contradiction(["Kalimo bandu steg furim lodabe nosti."] * 100, "de") == ""


def test_languages_near_to_one_another_are_not_told_apart() -> None:
    assert contradiction(SAMPLES["sv"], "da") == contradiction(SAMPLES["es"], "pt") == ""


def test_two_scripts_may_be_right() -> None:
    latin, cyrillic = ["Ovo je kuća na brdu."] * 40, ["Ово је кућа на брду."] * 40
    assert contradiction(latin, "sr") == contradiction(cyrillic, "sr") == ""
    assert contradiction(latin, "ru") == "is in Latin script"


@pytest.mark.parametrize(
    ("text", "codes"),
    [("بو گون هاوا چوخ یاخشی دیر", ["azb_Arab", "ug", "sd"]), ("हिन सिन्धु जे कपड़े", ["sd_Deva"]),
     ("Бүгүн һава яхши", ["ug_Cyrl", "az"])],
)  # fmt: skip
def test_scripts_of_a_language_in_several_countries_are_right(text: str, codes: list[str]) -> None:
    assert [contradiction([text] * 40, code) for code in codes] == [""] * len(codes)
    assert {foreign_language(text, ["en", code]) for code in codes} == {("", 0.0)}


def test_a_script_of_one_language_is_told() -> None:
    for text, code in (("ᎣᏏᏲ ᏙᎯᏧ", "chr"), ("ᖃᓄᐃᑉᐱᑦ", "iu"), ("ߒ ߞߊߞߍ߲ߘߍ߫", "nqo"), ("ދިވެހި", "dv")):
        assert foreign_language(text, ["en", "de"]) == (code, 1.0)
        assert foreign_language(text, ["en", code]) == ("", 0.0)
    assert foreign_language("ከመይ ኣለኻ", ["en", "ti"]) == ("", 0.0)
    assert foreign_language("Как дела?", ["en", "ti"])[0] == "ru"


@pytest.mark.parametrize(("given", "code"), [("de-AT", "de"), ("DE_at", "de"), ("deu", "de"), ("nb", "no"), ("x", "x"),
                                             ("hye_Armn", "hy"), ("pes_Arab", "fa"), ("khk", "mn")])  # fmt: skip
def test_codes_are_written_in_many_ways(given: str, code: str) -> None:
    assert normal_code(given) == code
