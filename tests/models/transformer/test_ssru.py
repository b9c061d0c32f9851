"""The SSRU against its equations by loops, and what a decoder of such layers has and does not have.

The laws of models, states and prepared models hold for it as for all others (`tests/properties`, `tests/inference`).
"""

import numpy as np
import pytest
import torch

from limelight.inspection.probe import attentions_of
from limelight.models.cache import Cells
from limelight.models.transformer.ssru import SSRU, SSRULayer
from tests.models.helpers import make_model, transformer

SHAPE = 3, 5, 7
"""Rows, positions, width."""


def exact_unit() -> SSRU:
    unit = SSRU(SHAPE[-1]).double()
    torch.nn.init.normal_(unit.forget_proj.bias)
    return unit


def by_loops(unit: SSRU, inputs: np.ndarray) -> np.ndarray:
    """Kim et al. 2019: f = sigmoid(W_f x + b_f), c' = f c + (1 - f) W x, o = ReLU(c')."""
    new, forget = (each.weight.detach().numpy() for each in (unit.input_proj, unit.forget_proj))
    bias, outputs = unit.forget_proj.bias.detach().numpy(), np.zeros_like(inputs)
    for row in range(len(inputs)):
        cell = np.zeros(inputs.shape[2])
        for place, given in enumerate(inputs[row]):
            for each in range(len(cell)):
                gate = 1 / (1 + np.exp(-(forget[each] @ given + bias[each])))
                cell[each] = gate * cell[each] + (1 - gate) * (new[each] @ given)
            outputs[row, place] = np.maximum(cell, 0)
    return outputs


def test_it_computes_the_equations(seed: int) -> None:
    unit, inputs = exact_unit(), torch.randn(SHAPE, dtype=torch.float64)
    found = unit(inputs).detach().numpy()
    np.testing.assert_allclose(found, by_loops(unit, inputs.numpy()), rtol=1e-12, atol=1e-12)
    assert (found > 0).any()
    assert (found == 0).any()


@pytest.mark.parametrize("how", ["autocast", "weights"])
@torch.inference_mode()
def test_cells_are_in_fp32_where_products_are_not(how: str, seed: int) -> None:
    """A long sentence: in bf16 a cell that changes by less than a hundredth would not change at all."""
    unit, inputs = SSRU(32), torch.randn(2, 200, 32)
    torch.nn.init.constant_(unit.forget_proj.bias, 5.0)
    expected = unit(inputs)
    if how == "weights":
        unit, inputs = unit.bfloat16(), inputs.bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=how == "autocast"):
        found = unit(inputs)
        unit.step(inputs[:, :1], cell := [torch.zeros(2, 1, 32)])
    assert found.dtype == inputs.dtype
    assert cell[0].dtype == torch.float32
    torch.testing.assert_close(found.float(), expected, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
def test_a_decoder_has_no_self_attention_and_carries_a_vector_for_each_layer(positions: str, seed: int) -> None:
    model = make_model(transformer(decoder_autoreg="ssru", positions=positions)).eval()
    assert all(isinstance(layer, SSRULayer) for layer in model.decoder.layers)
    assert (model.encoder.rotary is None) == (positions != "rotary")
    assert model.decoder.rotary is None, "there is nothing to rotate"
    names = ["encoder.0.self", "encoder.1.self", "decoder.0.cross", "decoder.1.cross"]
    assert list(attentions_of(model)) == names
    ids = torch.tensor([[3, 4, model.end_id]])
    with torch.inference_mode():
        state = model.start(model.encode(ids, ids >= 0), 2)
        for _ in range(20):
            assert isinstance(state.past, Cells)
            assert [tuple(cell.shape) for [cell] in state.past.layers] == [(1, 2, 11)] * 2
            _, state = model.step(torch.tensor([[5, 6]]), state)
