"""Recurrent models of packed parts: each wiring keeps its class and its cells."""

import pytest
import torch

from limelight.inference.linear import Fp32Linear
from limelight.inference.recurrent import pack_recurrent, pack_recurrent_language_model
from tests.models.helpers import make_model, random_batch, recurrent, recurrent_language_model

WIRINGS = {
    "fixed": recurrent(wiring="fixed"),
    "bahdanau": recurrent(),
    "luong": recurrent(wiring="luong", input_feeding=False, score="general"),
    "input feeding": recurrent(wiring="luong", score="dot"),
    "one way": recurrent(wiring="luong", score="dot", bidirectional=False),
}


@pytest.mark.parametrize("name", WIRINGS)
@torch.inference_mode()
def test_a_wiring_stays_what_it_is(name: str, seed: int) -> None:
    model = make_model(WIRINGS[name]).eval()
    packed, batch = pack_recurrent(model, Fp32Linear).eval(), random_batch(model)
    assert type(packed.decoder) is type(model.decoder)
    assert packed.decoder.fed_size == model.decoder.fed_size
    assert isinstance(packed.decoder.readout, Fp32Linear)
    assert {type(project) for project in packed.decoder.bridge.project} == {Fp32Linear}
    assert type(packed.encoder.narrow) is (type(None) if model.encoder.narrow is None else Fp32Linear)
    torch.testing.assert_close(packed(batch), model(batch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("tie", [True, False])
@torch.inference_mode()
def test_cells_that_write(tie: bool, seed: int) -> None:
    model = make_model(recurrent_language_model(tie=tie)).eval()
    packed, batch = pack_recurrent_language_model(model, Fp32Linear).eval(), random_batch(model)
    assert type(packed.narrow) is (Fp32Linear if tie else type(None))
    assert isinstance(packed.output, Fp32Linear)
    torch.testing.assert_close(packed.project(packed(batch)), model.project(model(batch)), rtol=1e-5, atol=1e-5)


def test_cells_share_their_weights() -> None:
    model = make_model(recurrent(cell="lstm", decoder_layers=2))
    packed = pack_recurrent(model, Fp32Linear)
    for one, other in ((packed.encoder.layers, model.encoder.layers), (packed.decoder.cells, model.decoder.cells)):
        assert [weight.data_ptr() for weight in one.parameters()] == [
            weight.data_ptr() for weight in other.parameters()
        ]
