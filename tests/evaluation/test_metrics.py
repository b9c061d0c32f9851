import unicodedata

import pytest
import sacrebleu

from limelight.errors import UserError
from limelight.evaluation import corpus_bleu, corpus_chrf

HYPOTHESES = ["The lamp shines on the second row.", "Nobody LEAVES before the end, do they?", ""]
REFERENCES = ["The lamp shines on the second row .", "Nobody leaves before the end, does he?", "Empty."]


def test_bleu_is_sacrebleus_own_cased_and_13a():
    metric = corpus_bleu(HYPOTHESES, REFERENCES)
    assert metric.score == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score > 0
    expected = f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    assert metric.signature == expected


def test_chrf_is_sacrebleus_own():
    metric = corpus_chrf(HYPOTHESES, REFERENCES)
    assert metric.score == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score > 0
    assert metric.signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{sacrebleu.__version__}"


@pytest.mark.parametrize("score", [corpus_bleu, corpus_chrf])
def test_what_cannot_be_scored_is_named(score):
    with pytest.raises(UserError, match="nothing to score"):
        score([], [])
    with pytest.raises(UserError, match="3 translations cannot be scored against 2 references"):
        score(HYPOTHESES, REFERENCES[:2])


def test_a_tokenization_that_needs_more_says_what(monkeypatch):
    def missing(**settings):
        raise RuntimeError("\nJapanese tokenization requires extra dependencies.\n\n    pip install sacrebleu[ja]")

    monkeypatch.setattr("limelight.evaluation.metrics.BLEU", missing)
    with pytest.raises(
        UserError, match=r"tokenize='ja-mecab' needs more than is installed: .* pip install sacrebleu\[ja"
    ):
        corpus_bleu(HYPOTHESES, REFERENCES, tokenize="ja-mecab")


SAME = [  # letters of Bengali, Vietnamese and Korean that have two spellings in Unicode
    "সে একটি বই পড়ছে আর গান গাইছে।",
    "Chị ấy đang đọc một cuốn sách cũ ở nhà.",
    "그 고양이는 큰 물고기를 보고 있다.",
]


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("text", SAME)
def test_the_same_text_in_another_spelling_of_unicode_is_the_same(text, form):
    """The defect: output is NFC, references were taken as they stand in the file."""
    written, reference = unicodedata.normalize("NFC", text), unicodedata.normalize(form, text)
    for score in (corpus_bleu, corpus_chrf):
        assert score([written], [reference]).score == pytest.approx(100)
