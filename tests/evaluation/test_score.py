import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from limelight.config import Direction, RecurrentConfig, TransformerConfig
from limelight.errors import UserError
from limelight.evaluation.score import PairScore, perplexity, score_pairs, score_tokens
from limelight.models.families import build_model
from limelight.pipelines.translator import Translator
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers
from tests.evaluation.fakes import BagModel
from tests.inspection.fakes import LETTERS, Letters

TEXTS = st.text("abcd ", max_size=13)
PAIRS = st.lists(st.builds(Pair, TEXTS, TEXTS, st.just("test.tsv"), st.integers(1, 99)), min_size=1, max_size=7)
MODELS = {
    "transformer": TransformerConfig(encoder_layers=1, decoder_layers=2, d_model=10, heads=2, d_ff=14, tie="two-way"),
    "bahdanau": RecurrentConfig(embedding=5, hidden=7),
    "luong": RecurrentConfig(wiring="luong", score="general", embedding=5, hidden=7),
    "fixed": RecurrentConfig(wiring="fixed", embedding=5, hidden=7),
}


def by_hand(model: BagModel, pair: Pair) -> list[float]:
    """Each piece's log-probability by loops over numpy arrays, from the definition."""
    read, said, output = (part.weight.detach().numpy() for part in (model.read, model.said, model.output))
    source = sum(said[identifier] for identifier in [*LETTERS.source.encode(pair.source), model.end_id])
    values, before = [], model.start_id
    for identifier in [*LETTERS.target.encode(pair.target), model.end_id]:
        logits = output @ (read[before] + source)
        values.append(logits[identifier] - logits.max() - math.log(sum(math.exp(x - logits.max()) for x in logits)))
        before = identifier
    return values


@given(pairs=PAIRS, seed=st.integers(0, 2**31), batch_tokens=st.integers(1, 50))
def test_scores_are_the_loop_over_the_definition(pairs, seed, batch_tokens):
    torch.manual_seed(seed)
    model = BagModel()
    expected = [by_hand(model, pair) for pair in pairs]
    scores = score_pairs(Translator(model, LETTERS), pairs, batch_tokens=batch_tokens)
    assert [score.tokens for score in scores] == [len(values) for values in expected]
    assert [score.log_probability for score in scores] == pytest.approx([sum(values) for values in expected])
    for pieces, values in zip(
        score_tokens(Translator(model, LETTERS), pairs, batch_tokens=batch_tokens), expected, strict=True
    ):
        assert list(pieces.log_probabilities) == pytest.approx(values)
        assert len(pieces.tokens) == len(values)


def test_the_direction_is_told_to_a_model_of_several(seed):
    """Without the tag another sentence is scored than the one that is translated."""
    directions = [Direction("en", "de"), Direction("en", "fr")]
    model, pair = BagModel(), Pair("ab", "c d")
    translator = Translator(model, Tokenizers(Tags(), LETTERS.target), directions=directions)
    with pytest.raises(UserError, match="several directions: en-de, en-fr; say which one"):
        score_pairs(translator, [pair])
    tagged, other = (score_pairs(translator, [pair], target_lang=each)[0] for each in ("de", "fr"))
    assert tagged.log_probability == pytest.approx(sum(by_hand(model, Pair("zab", "c d"))))
    assert other.log_probability == pytest.approx(sum(by_hand(model, Pair("yab", "c d"))))
    alone = Translator(model, LETTERS, directions=directions[:1])
    assert score_pairs(alone, [pair], source_lang="en", target_lang="de") == score_pairs(alone, [pair])


class Tags(Letters):
    """The tag of German is a `z`, that of French a `y`."""

    def reserved_id(self, piece: str) -> int:
        return self.encode({"<2de>": "z", "<2fr>": "y"}[piece])[0]


@pytest.mark.parametrize("name", MODELS)
def test_neither_padding_nor_company_nor_order_changes_a_score(seed, name):
    model = build_model(MODELS[name], LETTERS).double()
    texts = ["a", "abc de", "ab ab ab ab c", "", "dd"]
    pairs = [Pair(text, text[::-1], "test.tsv", line) for line, text in enumerate(texts, start=1)]
    alone = [score_pairs(Translator(model, LETTERS), [pair])[0].log_probability for pair in pairs]
    together = score_pairs(Translator(model, LETTERS), pairs)
    backwards = score_pairs(Translator(model, LETTERS), pairs[::-1], batch_tokens=17)[::-1]
    for scores in (together, backwards):
        np.testing.assert_allclose([score.log_probability for score in scores], alone, rtol=1e-9)
    assert [score.tokens for score in together] == [len(text) + 1 for text in texts]


def test_perplexity_is_the_exponential_of_the_mean_surprise():
    scores = [PairScore(-2.0, 3), PairScore(-7.0, 2)]
    assert perplexity(scores) == pytest.approx(math.exp(9 / 5))
    assert perplexity([PairScore(0.0, 4)]) == 1
    assert perplexity([PairScore(-1e6, 1)]) == math.inf
