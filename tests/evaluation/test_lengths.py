import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.evaluation import corpus_bleu, corpus_chrf, score_by_length

LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=12)
EDGES = st.sets(st.integers(1, 35), max_size=5).map(sorted)


def texts(lengths):
    return [" ".join(f"w{place}" for place in range(length)) for length in lengths]


@given(lengths=LENGTHS, edges=EDGES)
def test_every_sentence_is_in_exactly_one_bucket(lengths, edges):
    sources = texts(lengths)
    buckets = score_by_length(sources, sources, sources, upper_edges=edges)
    assert sum(bucket.sentences for bucket in buckets) == len(lengths)
    for bucket in buckets:
        last = max(lengths) if bucket.longest is None else bucket.longest
        assert bucket.sentences == sum(bucket.shortest <= length <= last for length in lengths)
        assert (bucket.bleu is None) == (bucket.chrf is None) == (bucket.sentences == 0)


def test_a_bucket_has_the_scores_of_its_sentences():
    sources = ["a b", "a b c d e f g", "c d e", "x " * 33]
    hypotheses = ["one two three four", "five six seven eight", "one two three five", "nine"]
    references = [["one two three four"], ["five six seven", "x"], ["one two three four six"], ["ten"]]
    first, second, *_, last = score_by_length(sources, hypotheses, references)
    chosen = [hypotheses[0], hypotheses[2]], [references[0], references[2]]
    assert (first.label, first.sentences) == ("1-5", 2)
    assert first.bleu == corpus_bleu(*chosen).score
    assert first.chrf == corpus_chrf(*chosen).score
    assert (second.label, second.sentences) == ("6-10", 1)
    assert (last.label, last.sentences) == ("31+", 1)


@pytest.mark.parametrize("edges", [[0, 5], [5, 5], [7, 3], [-1]])
def test_edges_that_do_not_rise_are_named(edges):
    with pytest.raises(UserError, match="must rise from at least 1"):
        score_by_length(["a"], ["a"], ["a"], upper_edges=edges)
