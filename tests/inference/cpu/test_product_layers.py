"""Layers in fp32 and bf16: the rows of a step are filled up once, not in every product."""

import numpy as np
import pytest
import torch
from torch.nn import functional

pytest.importorskip("numba")

from limelight.inference.cpu.transformer import ProductLayers
from limelight.inference.linear import LEAST_ROWS, least_rows
from limelight.inference.prepare import prepare
from limelight.models.interface import Active
from tests.models.followed import begun, random_sources
from tests.models.helpers import make_model, transformer


@torch.inference_mode()
@pytest.mark.parametrize("width", [1, 3, 7])
def test_few_rows_are_filled_up_once(width: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = prepare(make_model(transformer()).eval(), "fp32")
    assert isinstance(ready.layers, ProductLayers)
    state = begun(ready, random_sources(ready, (5,)), width)
    least = least_rows() or LEAST_ROWS
    rows, filled, linear, pad = [], [], functional.linear, functional.pad
    monkeypatch.setattr(functional, "linear", lambda given, *rest: rows.append(given.shape[-2]) or linear(given, *rest))
    monkeypatch.setattr(functional, "pad", lambda given, how: filled.append(sum(how)) or pad(given, how))
    features, _ = ready.step_some(torch.full((1, width), ready.start_id), state, Active.of(np.array([width])))
    products = 6 * len(ready.layers.decoder)  # two in each of three sub-layers
    assert rows == [max(width, least)] * products
    assert filled == [max(0, least - width)]
    assert len(features) == width
