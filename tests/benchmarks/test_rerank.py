"""`benchmarks/rerank.py`: lists ranked anew, and what a model says of the way back."""

import pytest

from benchmarks.rerank import Found, backward, bleu, by_both, by_length
from limelight.config import Direction
from limelight.pipelines.load import load_translator
from limelight.storage.layout import DEFAULT

GOOD, BAD = "a b c d e f g h", "a b x"
LISTS = [(GOOD, [Found(BAD, -4.0, 4, -3.0), Found(GOOD, -7.0, 9, -1.0)])]


def test_long_hypotheses_win_with_a_larger_length_penalty() -> None:
    assert bleu(LISTS, by_length(0.0, 0.0)) < 20
    assert bleu(LISTS, by_length(1.0, 0.0)) == pytest.approx(100)
    assert bleu([(GOOD, LISTS[0][1][:1])], by_length(1.0, 0.0)) == bleu(LISTS, by_length(0.0, 5.0))


def test_the_way_back_may_decide() -> None:
    lists = [(GOOD, [Found(BAD, -2.0, 4, -3.0), Found(GOOD, -9.0, 9, -1.0)])]
    assert bleu(lists, by_both(0.0)) < 20
    assert bleu(lists, by_both(1.0)) == pytest.approx(100)


def test_backward_says_the_same_of_a_pair_alone_and_in_a_batch() -> None:
    translator, direction = load_translator(DEFAULT, precision="fp32"), Direction("de", "en")
    right, wrong = (
        ("Der Hund schläft.", "The dog is asleep."),
        ("Der Hund schläft.", "Seven of nine red stones, he said."),
    )
    both = backward(translator, [right, wrong], direction)
    assert both == pytest.approx([backward(translator, [each], direction)[0] for each in (right, wrong)], abs=1e-3)
    assert 0 > both[0] > both[1]
