"""The recurrent encoder-decoder: encoder against torch, each wiring against its paper's equations, the bottleneck."""

import pytest
import torch
from torch import Tensor

from limelight.config import RecurrentConfig
from limelight.models.recurrent.cells import KINDS
from limelight.models.recurrent.model import Recurrent
from tests.models.helpers import exact_model, random_batch

SIZES = {"embedding": 11, "hidden": 5, "score_size": 3}


def exact(**settings: object) -> Recurrent:
    model = exact_model(RecurrentConfig(**SIZES, **settings))
    assert isinstance(model, Recurrent)
    return model


def assert_same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("cell", KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
def test_encoder_reads_each_sentence_as_torch_reads_it_alone(
    cell: str, bidirectional: bool, layers: int, seed: int
) -> None:
    model = exact(cell=cell, bidirectional=bidirectional, encoder_layers=layers)
    batch = random_batch(model)
    memory = model.encode(batch.source, batch.source_valid)
    directions = 2 if bidirectional else 1
    for row, length in enumerate(batch.source_valid.sum(1)):
        outputs, final = model.encoder.layers(model.encoder.embedding(batch.source[row : row + 1, :length]))
        assert_same(memory.annotations[row, :length], outputs[0])
        assert not memory.annotations[row, length:].any()
        parts = final if cell == "lstm" else (final,)
        for found, part in zip(memory.last, parts, strict=True):
            assert_same(found[row], part[-directions:, 0].flatten())


@pytest.mark.parametrize("wiring", ["fixed", "bahdanau", "luong"])
@pytest.mark.parametrize("layers", [1, 3])
def test_decoder_starts_from_the_bridge(wiring: str, layers: int, seed: int) -> None:
    """tanh(W h + b) for each layer, and for the LSTM's cell with a W of its own."""
    model = exact(cell="lstm", wiring=wiring, decoder_layers=layers)
    batch = random_batch(model)
    memory = model.encode(batch.source, batch.source_valid)
    state = model.start(memory)
    assert len(state.cells.layers) == layers
    for part, project in enumerate(model.decoder.bridge.project):
        expected = torch.tanh(memory.last[part] @ project.weight.T + project.bias)
        assert_same(torch.cat([cell[part] for cell in state.cells.layers], dim=-1)[:, 0], expected)


def additive_look(model: Recurrent, query: Tensor, annotations: Tensor, valid: Tensor) -> Tensor:
    """Bahdanau et al. 2015, section 3.1: e_j = v . tanh(W s + U h_j), alpha = softmax(e), c = sum of alpha_j h_j."""
    score = model.decoder.score
    energies = torch.tanh(score.query_proj(query)[:, None] + score.key_proj(annotations)) @ score.energy.weight[0]
    weights = energies.masked_fill(~valid, -torch.inf).softmax(-1)
    return (weights[..., None] * annotations).sum(1)


def gru(model: Recurrent, inputs: Tensor, state: Tensor) -> Tensor:
    """torch's own cell with the decoder's weights."""
    return torch.gru_cell(inputs, state, *model.decoder.cells.fused.all_weights[0])


def test_bahdanau_is_the_papers_equations(seed: int) -> None:
    """c_i from s_{i-1}; s_i = f(E y_{i-1}, c_i, s_{i-1}); features tanh(W [s_i; c_i; E y_{i-1}])."""
    model = exact(wiring="bahdanau")
    batch = random_batch(model)
    memory = model.encode(batch.source, batch.source_valid)
    state = model.start(memory).top[:, 0]
    features = model(batch)
    for place, ids in enumerate(batch.target_in.unbind(1)):
        embedded = model.embedding(ids)
        context = additive_look(model, state, memory.annotations, batch.source_valid)
        state = gru(model, torch.cat([embedded, context], -1), state)
        expected = torch.tanh(model.decoder.readout(torch.cat([state, context, embedded], -1)))
        assert_same(features[:, place], expected)


@pytest.mark.parametrize("input_feeding", [False, True])
def test_luong_is_the_papers_equations(input_feeding: bool, seed: int) -> None:
    """h_t = f(E y_{t-1} [, h~_{t-1}], h_{t-1}); c_t from h_t; h~_t = tanh(W_c [c_t; h_t]), zeros before the first."""
    model = exact(wiring="luong", input_feeding=input_feeding)
    batch = random_batch(model)
    memory = model.encode(batch.source, batch.source_valid)
    state = model.start(memory).top[:, 0]
    fed = torch.zeros_like(state)
    features = model(batch)
    for place, ids in enumerate(batch.target_in.unbind(1)):
        inputs = model.embedding(ids)
        state = gru(model, torch.cat([inputs, fed], -1) if input_feeding else inputs, state)
        context = additive_look(model, state, memory.annotations, batch.source_valid)
        fed = torch.tanh(model.decoder.readout(torch.cat([context, state], -1)))
        assert_same(features[:, place], fed)


def test_fixed_is_one_vector_in_every_step(seed: int) -> None:
    """s_i = f(E y_{i-1}, c, s_{i-1}) with c the encoder's last state (Cho et al. 2014)."""
    model = exact(wiring="fixed")
    batch = random_batch(model)
    context = model.encode(batch.source, batch.source_valid).last[0]
    state = torch.tanh(model.decoder.bridge.project[0](context))
    features = model(batch)
    for place, ids in enumerate(batch.target_in.unbind(1)):
        embedded = model.embedding(ids)
        state = gru(model, torch.cat([embedded, context], -1), state)
        expected = torch.tanh(model.decoder.readout(torch.cat([state, context, embedded], -1)))
        assert_same(features[:, place], expected)
