"""Contributions against plain loops in float64, and on models in which they are known."""

import math

import numpy as np
import pytest
import torch

from limelight.errors import UserError
from limelight.inspection.contributions import contributions, token_contributions
from limelight.inspection.forward_pass import forward_pass
from limelight.inspection.probe import Intervention
from tests.models.helpers import attention_of, batch_of, exact_model, random_rows, transformer

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


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.inference_mode()
def test_the_parts_of_a_sublayer_sum_to_its_output(seed, norm):
    """The law on which all else stands: nothing of a sub-layer is left out but its bias."""
    model = exact_model(transformer(norm=norm))
    source, target = random_rows(ROWS, 28)
    for kind, layers in forward_pass(model, source, target).items():
        for depth, part in enumerate(layers):
            own = model.encoder if kind == "encoder_self" else model.decoder
            layer = own.layers[depth]
            attention, sublayer = (
                (layer.cross_attention, layer.cross_sublayer)
                if kind == "cross"
                else (layer.attention, layer.attention_sublayer)
            )
            total = torch.einsum("hij,hjd->id", part.weights, part.transformed) + attention.out_proj.bias
            torch.testing.assert_close(sublayer(part.inputs[None], lambda _, total=total: total[None])[0], part.outputs)


def test_a_decoder_without_self_attention_is_refused(seed):
    with pytest.raises(UserError, match="the decoder of this model has no self-attention"):
        contributions(exact_model(transformer(decoder_autoreg="ssru")), *random_rows(ROWS, 28))


def test_a_head_that_is_off_contributes_nothing(seed):
    model = exact_model(transformer())
    source, target = random_rows(ROWS, 28)
    keep = {"decoder.1.cross": torch.tensor([1.0, 0.0, 1.0])}
    found = contributions(model, source, target, intervention=Intervention(keep))["cross"].heads
    assert (found[1, 1] == 0).all()
    assert (found[1, [0, 2]] > 0).any(axis=(1, 2)).all()


def shares_by_loops(model, source, target) -> tuple[np.ndarray, np.ndarray]:
    """ALTI+ by loops over layers, rows and columns, from the definition."""
    parts = forward_pass(model, source, target)

    def shares(part, apart: bool) -> np.ndarray:
        heads, rows, columns = part.weights.shape
        found = np.zeros((rows, columns + 1))
        for row in range(rows):
            whole = part.outputs[row].detach().numpy()
            terms = [
                sum(part.weights[h, row, j].item() * part.transformed[h, j].detach().numpy() for h in range(heads))
                for j in range(columns)
            ]
            terms.append(np.zeros_like(whole))
            terms[-1 if apart else row] = terms[-1 if apart else row] + part.inputs[row].detach().numpy()
            if part.deviation is not None:
                scale = part.scale.detach().numpy()
                terms = [(term - term.mean()) / part.deviation[row].item() * scale for term in terms]
            near = [max(0.0, np.abs(whole).sum() - np.abs(whole - term).sum()) for term in terms]
            found[row] = np.array(near) / sum(near)
        return found

    encoder = np.eye(len(source) + 1)
    for part in parts["encoder_self"]:
        encoder = shares(part, False)[:, :-1] @ encoder
    count = len(target) + 1
    both = np.concatenate([np.zeros((count, len(source) + 1)), np.eye(count)], axis=1)
    for own, cross in zip(parts["decoder_self"], parts["cross"], strict=True):
        both = shares(own, False)[:, :-1] @ both
        taken = shares(cross, True)
        added = np.concatenate([taken[:, :-1] @ encoder, np.zeros((count, count))], axis=1)
        both = taken[:, -1:] * both + added
    return both[:, : len(source) + 1], both[:, len(source) + 1 :]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_shares_are_followed_through_the_layers(seed, norm):
    model = exact_model(transformer(norm=norm))
    source, target = random_rows(ROWS, 28)
    found = token_contributions(model, source, target)
    for got, expected in zip(found, shares_by_loops(model, source, target), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-6)
    np.testing.assert_allclose(found.source.sum(axis=1) + found.prefix.sum(axis=1), 1, atol=1e-6)
    assert (np.triu(found.prefix, 1) == 0).all(), "nothing comes from what is not written yet"
