"""The size of a vocabulary and the sentences it is learned from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.tokens import suggest_vocabulary_size, vocabulary
from limelight.tokens.vocabulary import require_size, training_sentences


@pytest.mark.parametrize(
    ("pairs", "low", "high"),
    [
        (29_000, 4_000, 4_000),
        (500_000, 4_000, 16_000),
        (4_500_000, 28_000, 36_000),
        (0, 512, 512),
        (10**9, 64_000, 64_000),
    ],
)
def test_the_suggestion_goes_through_what_is_known(pairs: int, low: int, high: int) -> None:
    assert low <= suggest_vocabulary_size(pairs) <= high


@given(st.integers(0, 10**10), st.integers(0, 10**10))
def test_more_text_never_suggests_fewer_pieces(one: int, other: int) -> None:
    few, many = sorted((one, other))
    assert suggest_vocabulary_size(few) <= suggest_vocabulary_size(many)
    assert suggest_vocabulary_size(one) % 8 == 0


def test_sentences_are_normalised_and_empty_ones_left_out() -> None:
    assert training_sentences(iter([" a  b ", "", "\t", "cafe\u0301"]), seed=1) == ["a b", "café"]


@pytest.mark.parametrize("texts", [[], ["", " \u3000"]])
def test_no_text_at_all_is_said(texts: list[str]) -> None:
    with pytest.raises(UserError, match="there is no text to learn a vocabulary from"):
        training_sentences(texts, seed=1)


def test_a_large_corpus_is_drawn_from_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "MAX_SENTENCES", 50)
    counts = [0] * 500
    for seed in range(200):
        drawn = training_sentences((str(number) for number in range(500)), seed)
        assert len(set(drawn)) == 50
        for text in drawn:
            counts[int(text)] += 1
    # Each is drawn 20 times of 200, standard deviation 4.2; six of them is beyond chance.
    assert max(counts) < 47
    assert sum(counts[:250]) == pytest.approx(5_000, abs=300)


def test_the_draw_follows_from_the_seed(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(vocabulary, "MAX_SENTENCES", 7)
    texts = [str(number) for number in range(1_000)]
    assert training_sentences(texts, seed) == training_sentences(iter(texts), seed)
    assert training_sentences(texts, seed) != training_sentences(texts, seed + 1)


@pytest.mark.parametrize("size", [0, 36, 1_000_001])
def test_a_size_no_vocabulary_can_have(size: int) -> None:
    require_size(37, reserved=34)
    message = (
        rf"tokens\.vocabulary_size is {size:,}; it must be more than the 36 special and reserved pieces and at most"
    )
    with pytest.raises(UserError, match=message):
        require_size(size, reserved=34)
