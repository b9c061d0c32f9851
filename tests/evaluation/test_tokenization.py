"""BLEU's tokenization follows from the target language."""

from typing import get_args

import pytest

from limelight.config import Corpus, DataConfig, TrainingConfig
from limelight.evaluation import metrics
from limelight.evaluation.metrics import TOKENIZATIONS, choose_tokenization, corpus_bleu, target_language

CHINESE, JAPANESE, THAI = ["那隻貓在看一條魚。"], ["あの猫は魚を見ている。"], ["แมวตัวนั้นกำลังดูปลา"]
KOREAN, GERMAN = ["그 고양이는 물고기를 본다."], ["Die Katze sieht einen Fisch an."]


@pytest.fixture(params=[True, False], ids=["mecab", "no-mecab"])
def installed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(metrics, "is_available", lambda _: request.param)
    return bool(request.param)


@pytest.mark.parametrize("language", ["zh", "zh-TW", "zh_Hans", "zho_Hant", "cmn", "yue", "Chinese"])
def test_a_name_decides(language: str) -> None:
    assert choose_tokenization(language, GERMAN) == ("zh", f"target language {language}")


@pytest.mark.parametrize("language", ["th", "lo", "my", "km", "tha_Thai", "bo"])
def test_other_languages_without_spaces_are_counted_in_characters(language: str) -> None:
    assert choose_tokenization(language, []).name == "char"


@pytest.mark.parametrize("named", [True, False])
def test_morphemes_where_they_are_installed(installed: bool, named: bool) -> None:
    japanese = choose_tokenization("ja" if named else "target", JAPANESE)
    korean = choose_tokenization("ko-KR" if named else "target", KOREAN)
    assert (japanese.name, korean.name) == (("ja-mecab", "ko-mecab") if installed else ("char", "13a"))
    assert ("ja-mecab is not installed" in str(japanese)) == (not installed)


@pytest.mark.parametrize(
    ("references", "name"),
    [
        (CHINESE, "zh"),
        (THAI, "char"),
        (GERMAN, "13a"),
        ([], "13a"),
        (["3 + 4 = 7"], "13a"),
        (GERMAN * 9 + CHINESE, "13a"),
    ],
)
@pytest.mark.parametrize("language", ["", "target", "en", "xx"])
def test_without_a_name_the_script_of_the_references_decides(language: str, references: list[str], name: str) -> None:
    assert choose_tokenization(language, references).name == name


def test_chinese_in_latin_letters_has_spaces() -> None:
    assert choose_tokenization("zh-Latn", ["na zhi mao zai kan yi tiao yu"]).name == "13a"


def test_what_is_asked_for_is_taken() -> None:
    assert choose_tokenization("zh", CHINESE, wanted="char") == ("char", "as requested")


def test_a_perfect_translation_has_a_hundred_in_every_script() -> None:
    """The defect: 13a finds one word in a clause, so that no 4-gram exists and even the reference scores 0."""
    for texts in (CHINESE, JAPANESE, THAI, GERMAN):
        assert corpus_bleu(texts, texts, tokenize=choose_tokenization("", texts).name).score == pytest.approx(100)
    assert corpus_bleu(CHINESE, CHINESE, tokenize="13a").score < 1


def test_the_language_is_that_of_validation_or_else_of_training() -> None:
    def corpora(*targets: str) -> tuple[Corpus, ...]:
        return tuple(Corpus(files=("a.tsv",), target=target) for target in targets)

    assert target_language(DataConfig(train=corpora("de", "zh"), valid=corpora("zh", "zh"))) == "zh"
    assert target_language(DataConfig(train=corpora("ja"))) == "ja"
    assert target_language(DataConfig(train=corpora("de", "zh"))) == ""
    assert target_language(DataConfig(train=(Corpus(files=("a.tsv",)),))) == ""
    assert target_language(DataConfig()) == ""


def test_the_configuration_knows_every_tokenization() -> None:
    annotation = TrainingConfig.model_fields["bleu_tokenize"].annotation
    assert get_args(get_args(annotation)[0]) == TOKENIZATIONS
