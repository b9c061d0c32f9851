"""BLEU's tokenization follows from the script of the references."""

from typing import get_args

import pytest

from limelight.config import TrainingConfig
from limelight.evaluation import metrics
from limelight.evaluation.metrics import TOKENIZATIONS, choose_tokenization, corpus_bleu

CHINESE, JAPANESE, THAI = ["那隻貓在看一條魚。"], ["あの猫は魚を見ている。"], ["แมวตัวนั้นกำลังดูปลา"]
KOREAN, GERMAN = ["그 고양이는 물고기를 본다."], ["Die Katze sieht einen Fisch an."]


@pytest.mark.parametrize("installed", [True, False])
def test_morphemes_where_they_are_installed(installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "is_available", lambda _: installed)
    found = choose_tokenization(JAPANESE), choose_tokenization(KOREAN)
    assert found == (("ja-mecab", "ko-mecab") if installed else ("char", "13a"))


@pytest.mark.parametrize(
    ("references", "name"),
    [
        (CHINESE, "zh"),
        (THAI, "char"),
        (GERMAN, "13a"),
        ([], "13a"),
        (["3 + 4 = 7"], "13a"),
        (["na zhi mao zai kan yi tiao yu"], "13a"),
        (GERMAN * 9 + CHINESE, "13a"),
    ],
)
def test_the_script_of_the_references_decides(references: list[str], name: str) -> None:
    assert choose_tokenization(references) == name


def test_a_perfect_translation_has_a_hundred_in_every_script() -> None:
    """The defect: 13a finds one word in a clause, so that no 4-gram exists and even the reference scores 0."""
    for texts in (CHINESE, JAPANESE, THAI, GERMAN):
        assert corpus_bleu(texts, texts, tokenize=choose_tokenization(texts)).score == pytest.approx(100)
    assert corpus_bleu(CHINESE, CHINESE, tokenize="13a").score < 1


def test_the_configuration_knows_every_tokenization() -> None:
    annotation = TrainingConfig.model_fields["bleu_tokenize"].annotation
    assert get_args(get_args(annotation)[0]) == TOKENIZATIONS
