"""A study of all heads against plain loops, its continuation, and its forms as JSON and text."""

import statistics

import numpy as np
import pytest
import torch

from limelight.config import DecodingConfig
from limelight.errors import UserError
from limelight.evaluation.heads import study_heads
from limelight.inspection.erasure import TokenizedPair, needed_words
from limelight.inspection.head_importance import Head
from limelight.inspection.maps import attention_map
from limelight.pipelines.translator import Translator
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers
from tests.inspection.fakes import Letters
from tests.models.helpers import batch_of, heads_kept, make_model, transformer

TEXTS = [("ab cd. e", "fgh i"), ("abcde", "kl mn."), ("b b. cab", "a b c"), ("a.", "b")]
PAIRS = [Pair(*texts, "test.tsv", number) for number, texts in enumerate(TEXTS, start=1)]


class Whole(Letters):
    """Letters that have a text for every id."""

    def decode(self, ids):
        return "".join(each if len(each) == 1 else "?" for each in self.pieces(ids)).replace("▁", " ")


@pytest.fixture
def translator(seed) -> Translator:
    model = make_model(transformer(heads=2, d_model=8, d_ff=8), Whole.size, Whole.size).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(3.0 if weight.dim() > 1 else 1)
    config = DecodingConfig(beam_size=2, max_length_extra=2, max_length_factor=1.0)
    return Translator(model, Tokenizers(Whole(), Whole()), config)


def ids_of(translator, pair):
    return translator.tokenizers.source.encode(pair.source), translator.tokenizers.target.encode(pair.target)


def mean_loss(translator, keep=None) -> float:
    """-log p of each target token, one pair and one token at a time."""
    total, count, model = 0.0, 0, translator.model
    for pair in PAIRS:
        source, target = ids_of(translator, pair)
        with torch.inference_mode(), heads_kept(model, keep or {}):
            features = model(batch_of(model, [source], [target]))
            for row, wanted in zip(model.project(features)[0].double(), [*target, model.end_id], strict=True):
                total -= float(row.log_softmax(0)[wanted])
                count += 1
    return total / count


def test_losses_are_those_of_plain_loops(translator):
    study = study_heads(translator, {None: PAIRS})
    assert study.loss == pytest.approx(mean_loss(translator), rel=1e-5)
    for each in study.heads:
        keep = torch.ones(2)
        keep[each.head.number] = 0
        expected = mean_loss(translator, {each.head.attention: keep}) - study.loss
        assert each.removal.mean == pytest.approx(expected, abs=1e-4)
    sides = [*(f"encoder.{depth}.self" for depth in (0, 1))]
    sides += [f"decoder.{depth}.{of}" for depth in (0, 1) for of in ("self", "cross")]
    assert [each.head for each in study.heads] == [Head(name, number) for name in sides for number in (0, 1)]


def test_roles_are_means_over_sentences(translator):
    """Of three roles of two heads, from the maps of single sentences."""
    study = study_heads(translator, {None: PAIRS})
    figures = {each.head: each for each in study.heads}
    previous, signs, aligned, read = [], [], [], []
    for pair in PAIRS:
        source, target = ids_of(translator, pair)
        seen = attention_map(translator.model, translator.tokenizers, pair.source, target)
        own, cross = seen.encoder_self[1, 0], seen.cross[0, 1]
        previous.append(np.mean([own[row, row - 1] for row in range(1, len(own))]))
        dots = [column for column, piece in enumerate(seen.source_pieces) if piece == "."]
        if dots:
            signs.append(np.mean([sum(row[column] for column in dots) for row in own]))
        words = [[word] for word in seen.source_words[:-1]]
        needed = needed_words(translator.model, TokenizedPair(source, target, words, (), (seen.source_words[-1], 0)))
        for found, shift in ((aligned, 0), (read, 1)):
            rows = [int(cross[row + shift, :-1].argmax()) in wanted for row, wanted in enumerate(needed) if wanted]
            found += [np.mean(rows)] if rows else []
    for head, role, values in (
        (Head("encoder.1.self", 0), "previous", previous),
        (Head("encoder.1.self", 0), "signs", signs),
        (Head("decoder.0.cross", 1), "aligns", aligned),
        (Head("decoder.0.cross", 1), "aligns_read", read),
    ):
        mean, deviation = figures[head].roles[role]
        assert mean == pytest.approx(np.mean(values), abs=1e-5), role
        assert deviation == pytest.approx(statistics.pstdev(values), abs=1e-4), role


def test_pairs_are_spread_over_the_text_and_long_ones_left_out(translator):
    many = [Pair("a" * (201 if number == 5 else number + 1), "b", "x", number) for number in range(10)]
    study = study_heads(translator, {None: many}, sentences=3)
    assert study.provenance["sentences"] == 3
    assert study_heads(translator, {None: many}).provenance["sentences"] == 9
    some = [Pair("a" * (201 if number in (1, 3) else number + 1), "b", "x", number) for number in range(5)]
    assert study_heads(translator, {None: some}, sentences=3).provenance["sentences"] == 3  # 0, 2 and 4
    with pytest.raises(UserError, match="no pair has from 1 to 200 tokens"):
        study_heads(translator, {None: [Pair("a", "", "x", 1)]})
