"""The bundled model keeps signs and letters that its vocabulary does not hold."""

import pytest

import limelight

SIGNS = ["❤️", "東京", "🎉🎉", "👩‍👩‍👧", "x̂", "Łódź", "日", "♞"]


@pytest.fixture(scope="module")
def translator() -> limelight.Translator:
    return limelight.load()


def test_each_sign_is_in_the_translation_once(translator: limelight.Translator) -> None:
    texts = [f"We saw {sign} in the park, and it was very good." for sign in SIGNS]
    found = translator.translate(texts, source_lang="en", target_lang="de", beam_size=1)
    assert [each.text.count(sign) for each, sign in zip(found, SIGNS, strict=True)] == [1] * len(SIGNS)
    assert not any("\ufffd" in each.text for each in found)


def test_what_is_not_kept_is_said(translator: limelight.Translator) -> None:
    texts = {f"Das Zeichen {sign} stand gestern {place}.": sign for sign in SIGNS for place in ("dort", "an der Tür")}
    found = translator.translate(list(texts), source_lang="de", target_lang="en", beam_size=1)
    lost = [each for each in found if each.text.count(texts[each.source]) < 1]
    assert all("sign lost" in each.warnings for each in lost)
