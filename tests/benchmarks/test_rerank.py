"""`benchmarks/rerank.py`: lists ranked anew, and what a model says of the way back."""

import math

import pytest

from benchmarks.rerank import Found, backward, bleu, by_both, by_length
from limelight.box import DEFAULT
from limelight.config import Direction
from limelight.pipelines.load import load_translator

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


def test_backward_is_what_a_search_gives_its_own_translation() -> None:
    """Up to what eight bits round: the search has them, the readable model has not."""
    translator = load_translator(DEFAULT, precision="fp32")
    sources = ["My friends live in a big house.", "Where is the dog that you saw?"]
    found = translator.translate(sources, source_lang="en", target_lang="de", guards=False, beam_size=1)
    means = backward(translator, [(each.source, each.text) for each in found], Direction("en", "de"))
    for each, mean in zip(found, means, strict=True):
        assert math.isclose(mean, each.log_probability / (len(each.tokens) + 1), abs_tol=1e-3)
