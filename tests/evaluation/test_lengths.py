from hypothesis import given
from hypothesis import strategies as st

from limelight.evaluation import corpus_bleu, corpus_chrf, score_by_length


def texts(lengths):
    return [" ".join(f"w{place}" for place in range(length)) for length in lengths]


@given(lengths=st.lists(st.integers(0, 40), min_size=1, max_size=12))
def test_every_sentence_is_in_exactly_one_bucket(lengths):
    sources = texts(lengths)
    buckets = score_by_length(sources, sources, sources)
    assert ("0" in [bucket.words for bucket in buckets]) == (0 in lengths)
    for bucket in buckets:
        first, _, last = bucket.words.rstrip("+").partition("-")
        upper = 40 if bucket.words.endswith("+") else int(last or first)
        assert bucket.sentences == sum(int(first) <= length <= upper for length in lengths)
        assert (bucket.bleu is None) == (bucket.chrf is None) == (bucket.sentences == 0)
    assert sum(bucket.sentences for bucket in buckets) == len(lengths)


def test_a_bucket_has_the_scores_of_its_sentences():
    sources = ["a b", "a b c d e f g", "c d e", "x " * 33]
    hypotheses = ["one two three four", "five six seven eight", "one two three five", "nine"]
    references = ["one two three four", "five six seven", "one two three four six", "ten"]
    first, second, *_, last = score_by_length(sources, hypotheses, references)
    chosen = [hypotheses[0], hypotheses[2]], [references[0], references[2]]
    assert (first.words, first.sentences) == ("1-5", 2)
    assert first.bleu == corpus_bleu(*chosen).score
    assert first.chrf == corpus_chrf(*chosen).score
    assert (second.words, second.sentences) == ("6-10", 1)
    assert (last.words, last.sentences) == ("31+", 1)
