"""Translations after a layer: those of a model that has only the layers below."""

import copy

import pytest
from torch import nn

from limelight.inspection.layers import decoder_lens, encoder_lens
from tests.models.helpers import batch_of, exact_model, random_rows, transformer

NORMS = pytest.mark.parametrize("norm", ["pre", "post"])


def cut(model, *, encoder: int | None = None, decoder: int | None = None):
    """The same model with its lowest layers alone."""
    twin = copy.deepcopy(model)
    for stack, count in ((twin.encoder, encoder), (twin.decoder, decoder)):
        if count is not None:
            stack.layers = nn.ModuleList(list(stack.layers)[:count])
    return twin


def greedy(model, source: list[int], max_length: int) -> tuple[list[int], float, bool]:
    """Token by token, each time from the beginning."""
    said: list[int] = []
    total = 0.0
    while True:
        features = model.forward(batch_of(model, [source], [said]))[0, -1]
        row = model.project(features).log_softmax(-1).detach()
        token = int(row.argmax())
        if token == model.end_id:
            return said, total + float(row[token]), True
        if len(said) == max_length:
            return said, total, False
        total += float(row[token])
        said.append(token)


@NORMS
def test_each_translation_is_that_of_the_layers_below(seed, norm):
    model = exact_model(transformer(norm=norm, encoder_layers=3))
    (source,) = random_rows((5,), 28)
    found = encoder_lens(model, source, max_length=7)
    assert len(found) == 4
    for depth, each in enumerate(found):
        ids, total, finished = greedy(cut(model, encoder=depth), source, 7)
        assert (list(each.ids), each.finished) == (ids, finished)
        assert each.log_probability == pytest.approx(total, abs=1e-4)
    assert all(each.ids[:2] == (9, 8) for each in encoder_lens(model, source, max_length=7, prefix=(9, 8)))


@NORMS
def test_each_prediction_is_that_of_the_layers_below(seed, norm):
    model = exact_model(transformer(norm=norm))
    source, target = random_rows((5, 4), 28)
    found = decoder_lens(model, source, target)
    assert len(found) == 3
    for depth, row in enumerate(found):
        twin = cut(model, decoder=depth)
        probabilities = twin.project(twin.forward(batch_of(twin, [source], [target])))[0].softmax(-1).detach()
        for place, (each, token) in enumerate(zip(row, [*target, model.end_id], strict=True)):
            assert each.best == int(probabilities[place].argmax())
            assert each.best_probability == pytest.approx(float(probabilities[place].max()), abs=1e-5)
            assert each.probability == pytest.approx(float(probabilities[place, token]), abs=1e-5)
