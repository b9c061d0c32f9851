"""The bundled model keeps signs and letters that its vocabulary does not hold."""

from functools import partial

import pytest

import limelight
from limelight.pipelines.translator import Translator
from limelight.text.kept_signs import find_unknown
from limelight.tokens import Tokenizers
from limelight.tokens.characters import train_characters


def reading(translator: Translator, *texts: str) -> Translator:
    """The translator with vocabularies of the characters of these texts, of the source and of the target."""
    sides = (train_characters([text], vocabulary_size=None, reserved=()) for text in texts)
    return Translator(translator.model, Tokenizers(*sides))


INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060"
SIGNS = ["❤️", "東京", "🎉🎉", "👩‍👩‍👧", "x̂", "Łódź", "日", "♞"]


@pytest.fixture(scope="module")
def translator() -> limelight.Translator:
    return limelight.load()


def test_invisible_characters_are_read_if_the_vocabulary_has_them(translator: Translator) -> None:
    for character in INVISIBLE:
        for known, count in ((f"ខក{character}", 3), ("ខក", 2)):
            request = reading(translator, known, known).prepare([f"ខ{character}ក"])[0].request
            assert request is not None
            assert len(request.source) == count + 1, "with the end"


def test_each_sign_is_in_the_translation_once(translator: limelight.Translator) -> None:
    texts = [f"We saw {sign} in the park, and it was very good." for sign in SIGNS]
    found = translator.translate(texts, source_lang="en", target_lang="de", beam_size=1)
    assert [each.text.count(sign) for each, sign in zip(found, SIGNS, strict=True)] == [1] * len(SIGNS)
    assert not any("\ufffd" in each.text for each in found)


@pytest.mark.parametrize(
    "text",
    [
        "आज अच्छा दिन है",
        "ഇന്ന് നല്ല ദിവസം",
        "วันนี้ดี",
        "ថ្ងៃនេះ",
        "ယနေ့",
        "مُحَمَّد",
        "ọjọ́ dára",
    ],
)
def test_a_word_of_the_source_needs_no_token_of_the_target(translator: Translator, text: str) -> None:
    unknown = partial(find_unknown, in_vocabulary=reading(translator, text, "a").in_vocabulary, languages=("xx", "yy"))
    assert list(unknown(text)) == []
    assert {found.begin for found in unknown(f"☂ {text}")} == {0}, "a symbol needs both"


def test_what_is_not_kept_is_said(translator: limelight.Translator) -> None:
    texts = {f"Das Zeichen {sign} stand gestern {place}.": sign for sign in SIGNS for place in ("dort", "an der Tür")}
    found = translator.translate(list(texts), source_lang="de", target_lang="en", beam_size=1)
    lost = [each for each in found if each.text.count(texts[each.source]) < 1]
    assert all("sign lost" in each.warnings for each in lost)
