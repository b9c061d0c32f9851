"""Recurrent models with packed weights: the readable classes with packed layers and without dropout.

Recurrent cells are unchanged, as torch's fused kernel reads their weights. So are scores: they are small, and some use
the halves of a matrix separately.
"""

import copy
from typing import Any

from torch import nn

from limelight.inference.linear import MakeLinear, shared
from limelight.models.recurrent import Recurrent
from limelight.models.recurrent.cells import CellStack
from limelight.models.recurrent.language_model import RecurrentLanguageModel
from limelight.models.recurrent.model import (
    AttentiveDecoder,
    Bridge,
    FixedDecoder,
    InputFeedingDecoder,
    RecurrentDecoder,
    RecurrentEncoder,
)


def pack_recurrent(model: Recurrent, linear: MakeLinear) -> Recurrent:
    """The model with linear layers made by `linear`."""
    encoder = model.encoder
    return Recurrent(
        RecurrentEncoder(
            shared(encoder.embedding),
            shared(encoder.layers),
            _packed(encoder.narrow, linear),
            dropout=0.0,
        ),
        _decoder(model.decoder, linear),
        shared(model.embedding),
        linear(*model.output_weights()),
        dropout=0.0,
        start_id=model.start_id,
        end_id=model.end_id,
    )


def pack_recurrent_language_model(model: RecurrentLanguageModel, linear: MakeLinear) -> RecurrentLanguageModel:
    """The model with linear layers made by `linear`."""
    return RecurrentLanguageModel(
        shared(model.embedding),
        _cells(model.cells),
        _packed(model.narrow, linear),
        linear(*model.output_weights()),
        dropout=0.0,
        end_id=model.end_id,
    )


def _decoder(decoder: RecurrentDecoder, linear: MakeLinear) -> RecurrentDecoder:
    cells = _cells(decoder.cells)
    projections = [_packed(project, linear) for project in decoder.bridge.project]
    bridge = Bridge(projections, layers=decoder.bridge.decoder_layers)
    if isinstance(decoder, FixedDecoder):
        return FixedDecoder(cells, bridge, readout=_packed(decoder.readout, linear))
    assert isinstance(decoder, AttentiveDecoder)
    readout, score = _packed(decoder.readout, linear), copy.deepcopy(decoder.score).eval()
    if isinstance(decoder, InputFeedingDecoder):
        return InputFeedingDecoder(cells, bridge, score=score, readout=readout, fed_size=decoder.fed_size)
    return type(decoder)(cells, bridge, score=score, readout=readout)


def _packed(layer: nn.Module | None, linear: MakeLinear) -> Any:
    """A packed layer for a linear one; None for None."""
    if layer is None:
        return None
    assert isinstance(layer, nn.Linear)
    return linear(layer.weight, layer.bias)


def _cells(cells: CellStack) -> CellStack:
    return CellStack(shared(cells.fused), dropout=0.0)
