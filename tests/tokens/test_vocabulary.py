"""The size of a vocabulary and the sentences it is learned from."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text.kept_signs import ASCII
from limelight.tokens import suggest_vocabulary_size, train_tokenizer, vocabulary
from limelight.tokens.vocabulary import count_alphabet, required_characters, training_sentences


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


@given(st.integers(0, 10**8), st.integers(0, 20_000), st.integers(0, 20_000))
def test_characters_take_no_room_from_merges(pairs: int, one: int, other: int) -> None:
    """The defect: an alphabet that just fitted into the suggestion left nothing for merges, a larger one everything."""
    few, many = sorted((one, other))
    sizes = suggest_vocabulary_size(pairs, few), suggest_vocabulary_size(pairs, many)
    assert sizes[0] <= sizes[1] <= vocabulary.MAX_SIZE
    if sizes[1] < vocabulary.MAX_SIZE:
        assert sizes[0] - few <= suggest_vocabulary_size(pairs)
        assert sizes[1] - max(many, vocabulary.ALPHABET) >= suggest_vocabulary_size(pairs) - vocabulary.ALPHABET


@given(st.lists(st.text("abcdef", max_size=9), max_size=5), st.floats(0, 1))
def test_an_alphabet_is_the_fewest_characters_that_cover_the_text(texts: list[str], coverage: float) -> None:
    """By trying every set of characters."""
    text = "".join(texts)
    letters = sorted(set(text))
    covering = [
        len(some)
        for size in range(len(letters) + 1)
        for some in combinations(letters, size)
        if sum(map(text.count, some)) >= coverage * len(text)
    ]
    assert count_alphabet(texts, coverage) == min(covering)


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


def test_frequent_characters_and_signs_are_required_and_ascii_where_there_is_room() -> None:
    texts = ["a b"] * 30 + ["→ λ"] * 5 + ["東"] * 20 + ["京"] * 19
    assert set(required_characters(texts, 4000)) == {*ASCII, "→", "λ", "東"}
    assert set(required_characters(texts, 1400)) == {"a", "b", "→", "λ", "東"}  # 92 more are more than a sixteenth
    assert set(required_characters(texts, 8)) == {"a", "b"}  # the most frequent ones


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("byte_fallback", [True, False])
def test_a_vocabulary_holds_what_is_required(kind: str, byte_fallback: bool) -> None:
    texts = ["the cat sat on the mat", "a dog ran to the old house", "an arrow → here"] * 30
    tokenizer = train_tokenizer(
        texts, kind=kind, vocabulary_size=None, languages=(), byte_fallback=byte_fallback, seed=1, sentences=9000
    )
    held = set(tokenizer.pieces(range(tokenizer.size)))
    assert {*ASCII, "→"} <= held
    assert tokenizer.decode(tokenizer.encode("{x} → ~`^|")) == "{x} → ~`^|"
