"""Contributions against plain loops in float64, and on models in which they are known."""

import math

import numpy as np
import pytest
import torch

from limelight.errors import UserError
from limelight.inspection.contributions import contributions
from limelight.inspection.heads import with_heads
from tests.models.helpers import attention_of, batch_of, exact_model, random_rows, recurrent, transformer

ROWS = (5, 4)


def vectors(attention, inputs: np.ndarray) -> np.ndarray:
    """f^h(x_j) = (x_j W_V^h + b_V^h) W_O^h by loops: (heads, columns, model)."""
    value, bias = attention.value_proj.weight.detach().numpy(), attention.value_proj.bias.detach().numpy()
    out, size = attention.out_proj.weight.detach().numpy(), attention.value_size
    found = np.zeros((attention.heads, len(inputs), len(out)))
    for head in range(attention.heads):
        for column, given in enumerate(inputs):
            for inner in range(head * size, (head + 1) * size):
                found[head, column] += (sum(value[inner] * given) + bias[inner]) * out[:, inner]
    return found


def first_cross(model, source, target) -> tuple[np.ndarray, np.ndarray]:
    """f^h(x_j) of the first cross-attention, and its weights."""
    batch = batch_of(model, [source], [target])
    memory = model.encode(batch.source, batch.source_valid).features[0].detach().numpy()
    weights = attention_of(model, batch).layers("cross")[0][0]
    return vectors(model.decoder.layers[0].cross_attention, memory), weights.detach().numpy()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_contributions_are_norms_of_weighted_vectors(seed, norm):
    model = exact_model(transformer(norm=norm))
    source, target = random_rows(ROWS, 28)
    found = contributions(model, source, target)["cross"]
    vector, weights = first_cross(model, source, target)
    heads, rows, columns = weights.shape
    for row in range(rows):
        for column in range(columns):
            whole = np.zeros(vector.shape[-1])
            for head in range(heads):
                added = weights[head, row, column] * vector[head, column]
                whole += added
                assert found.heads[0, head, row, column] == pytest.approx(math.sqrt(sum(added**2)), rel=1e-5)
            assert found.layers[0, row, column] == pytest.approx(math.sqrt(sum(whole**2)), rel=1e-5)
    np.testing.assert_allclose(found.norms[0], np.sqrt((vector**2).sum(-1)), rtol=1e-5)


def test_an_attention_that_a_model_lacks_is_left_out(seed):
    found = contributions(exact_model(transformer(decoder_autoreg="ssru")), *random_rows(ROWS, 28))
    assert list(found) == ["encoder_self", "cross"]
    with pytest.raises(UserError, match="this is another model"):
        contributions(exact_model(recurrent()), *random_rows(ROWS, 28))


def test_a_head_that_is_off_contributes_nothing(seed):
    model = exact_model(transformer())
    source, target = random_rows(ROWS, 28)
    keep = {"decoder.1.cross": torch.tensor([1.0, 0.0, 1.0])}
    found = contributions(with_heads(model, keep), source, target)["cross"].heads
    assert (found[1, 1] == 0).all()
    assert (found[1, [0, 2]] > 0).any(axis=(1, 2)).all()
