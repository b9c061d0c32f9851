"""What figures mean, for people who have never seen any."""

import pytest

from limelight.evaluation.summary import summarize_translation


def summary(bleu: float, *, tokenize: str = "13a", sentences: int = 1_000, unfinished: int = 0) -> str:
    return summarize_translation(bleu, tokenize=tokenize, sentences=sentences, unfinished=unfinished)


@pytest.mark.parametrize(
    ("bleu", "meaning"),
    [
        (0.0, "most translations are of little use"),
        (9.99, "most translations are of little use"),
        (10.0, "the topic of a sentence can often be recognized"),
        (29.9, "the gist of a translation is often clear, with many errors"),
        (30.0, "translations can usually be understood, with errors"),
        (40.0, "translations are mostly good"),
        (100.0, "make sure that the model was not trained on this text"),
    ],
)
def test_the_scale_of_bleu(bleu: float, meaning: str) -> None:
    first, second = summary(bleu).splitlines()
    assert first.startswith(f"In short: at BLEU {bleu:.1f}, ")
    assert meaning in first
    assert first.endswith(". This is a rule of thumb.")
    assert second.startswith("Read some translations yourself")


def test_bleu_over_characters_is_not_read_on_that_scale() -> None:
    first = summary(45.0, tokenize="char").splitlines()[0]
    assert first == "In short: this BLEU counts smaller units than words (char) and is higher than one of words."
    assert "BLEU 45.0" in summary(45.0, tokenize="zh")


def test_few_sentences_and_unfinished_ones_are_said() -> None:
    assert "are few" not in summary(30.0, sentences=100)
    assert "99 sentences are few: the score may be off by several points" in summary(30.0, sentences=99)
    assert "cut off" not in summary(30.0, unfinished=50)
    assert "51 translations were cut off at the length limit" in summary(30.0, unfinished=51)
