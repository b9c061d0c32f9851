"""Importance of heads against plain loops, and on a model in which one head does the work."""

import numpy as np
import pytest
import torch

from limelight.errors import UserError
from limelight.inspection.batches import batches_of
from limelight.inspection.head_importance import Head, change_of, heads_of, sentence_losses
from limelight.inspection.heads import without_heads
from tests.models.helpers import batch_of, exact_model, heads_kept, make_model, random_rows, recurrent, transformer

SOURCES, TARGETS = (5, 2, 7), (4, 6, 1)


def corpus(model, batch_tokens=16):
    sources, targets = random_rows(SOURCES, 28), random_rows(TARGETS, 28)
    return sources, targets, batches_of(model, sources, targets, batch_tokens=batch_tokens)


def loss_alone(model, source, target, removed=None) -> float:
    """One pair without padding, token by token."""
    batch = batch_of(model, [source], [target])
    off = {removed.attention: [removed.number]} if removed else {}
    with heads_kept(model, without_heads(model, off)):
        logits = model.project(model(batch))[0].detach().double()
    total = 0.0
    for row, wanted in zip(logits, [*target, model.end_id], strict=True):
        total -= float(row[wanted] - torch.log(torch.exp(row).sum()))
    return total


@pytest.mark.parametrize("batch_tokens", [1, 16, 1000])
def test_losses_are_those_of_each_pair_alone(seed, batch_tokens):
    model = exact_model(transformer())
    sources, targets, rows = corpus(model, batch_tokens)
    assert sorted(place for each in rows for place in each.places) == [0, 1, 2]
    for some in (None, Head("encoder.1.self", 2), Head("decoder.0.cross", 1)):
        expected = [loss_alone(model, *pair, some) for pair in zip(sources, targets, strict=True)]
        np.testing.assert_allclose(sentence_losses(model, rows, removed=some), expected, rtol=1e-6)


def test_the_head_that_does_the_work_is_found(seed):
    """The output of all heads of cross-attention but one is zero: only that one matters."""
    model = exact_model(transformer())
    with torch.no_grad():
        for depth, layer in enumerate(model.decoder.layers):
            out = layer.cross_attention.out_proj.weight
            for head in range(3):
                if (depth, head) != (1, 2):
                    out[:, 2 * head : 2 * head + 2] = 0
    _, targets, rows = corpus(model)
    before, tokens = sentence_losses(model, rows), np.array([len(target) + 1 for target in targets])
    for head in heads_of(model):
        if head.attention.endswith("cross"):
            change = change_of(sentence_losses(model, rows, removed=head), before, tokens)
            assert (abs(change.mean) > 1e-4) == (head == Head("decoder.1.cross", 2))


def test_the_error_of_a_change_is_that_of_repeated_draws():
    """Against the spread of the ratio over many drawn corpora."""
    random = np.random.default_rng(5)
    count, drawn = 60, 2000
    tokens = random.integers(3, 20, size=(drawn, count)).astype(float)
    changes = tokens * 0.02 + random.normal(size=(drawn, count))
    found = [change_of(change, np.zeros(count), n) for change, n in zip(changes, tokens, strict=True)]
    ratios = [each.mean for each in found]
    assert np.mean([each.error for each in found]) == pytest.approx(np.std(ratios), rel=0.1)
    assert ratios[0] == pytest.approx(changes[0].sum() / tokens[0].sum())


def test_unknown_heads_and_models_are_refused():
    model = make_model(transformer())
    rows = corpus(model)[2]
    with pytest.raises(
        UserError, match=r"'decoder.1.cross', or one of its heads \[3\]; the model has encoder.0.self with 3 heads"
    ):
        sentence_losses(model, rows, removed=Head("decoder.1.cross", 3))
    with pytest.raises(UserError, match=r"unknown attention 'encoder.7.self'"):
        sentence_losses(model, rows, removed=Head("encoder.7.self", 0))
    with pytest.raises(UserError, match="Transformers with encoder and decoder"):
        heads_of(make_model(recurrent()))
