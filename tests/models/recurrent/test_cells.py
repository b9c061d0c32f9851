"""The cells against their papers' equations, written out; one position at a time against the fused kernel."""

import pytest
import torch
from torch import Tensor

from limelight.models.cache import Cells
from limelight.models.recurrent.cells import KINDS, CellStack, CellState, build_layers

BATCH, TARGET, INPUT, HIDDEN = 2, 5, 7, 3


def make(kind: str, layers: int) -> tuple[CellStack, Tensor, Cells]:
    """A stack in float64, inputs for it, and states that are not zero."""
    stack = CellStack(build_layers(kind, INPUT, HIDDEN, layers=layers, bidirectional=False, dropout=0.4), dropout=0.4)
    stack = stack.double().eval()
    for parameter in stack.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    states = Cells(
        tuple(
            [torch.randn(BATCH, 1, HIDDEN, dtype=torch.float64) for _ in range(KINDS[kind].state_parts)]
            for _ in range(layers)
        )
    )
    return stack, torch.randn(BATCH, TARGET, INPUT, dtype=torch.float64), states


def equations(kind: str, weights: list[Tensor], inputs: Tensor, state: CellState) -> CellState:
    """One cell, a gate at a time: each gate has its rows of the two matrices and of the two biases."""
    gates = [
        (inputs @ w.T + b_w, state[0] @ u.T + b_u)
        for w, u, b_w, b_u in zip(*(weight.split(HIDDEN) for weight in weights), strict=True)
    ]
    if kind == "rnn":
        return (torch.tanh(sum(gates[0])),)
    if kind == "gru":
        reset, update = torch.sigmoid(sum(gates[0])), torch.sigmoid(sum(gates[1]))
        new = torch.tanh(gates[2][0] + reset * gates[2][1])
        return ((1 - update) * new + update * state[0],)
    enter, forget, new, leave = (sum(gate) for gate in gates)
    cell = torch.sigmoid(forget) * state[1] + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(leave) * torch.tanh(cell), cell


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_the_equations(kind: str, seed: int) -> None:
    stack, inputs, states = make(kind, layers=1)
    (found,) = stack.step(inputs[:, :1], states).layers
    expected = equations(kind, stack.fused.all_weights[0], inputs[:, :1], states.layers[0])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_dropout_stands_between_layers_only(seed: int) -> None:
    """A single layer has no place for it; two layers differ from call to call in training."""
    for layers, equal in ((1, True), (2, False)):
        stack, inputs, states = make("gru", layers)
        stack.train()
        first = stack(inputs, states), *stack.step(inputs[:, :1], states).layers
        others = [(stack(inputs, states), *stack.step(inputs[:, :1], states).layers) for _ in range(30)]
        assert all(torch.equal(other[1][0], first[1][0]) for other in others)
        for part in (lambda outputs: outputs[0], lambda outputs: outputs[-1][0]):
            assert all(torch.equal(part(other), part(first)) for other in others) == equal


def test_recurrent_weights_begin_orthogonal_and_the_forget_gate_open(seed: int) -> None:
    layers = build_layers("lstm", 7, 5, layers=2, bidirectional=True, dropout=0.0)
    for name, parameter in layers.named_parameters():
        gates = parameter.detach().split(5)
        if name.startswith("weight_hh"):
            for gate in gates:
                torch.testing.assert_close(gate @ gate.T, torch.eye(5), rtol=1e-4, atol=1e-5)
        if name.startswith("bias"):
            assert [gate.unique().tolist() for gate in gates] == [[0], [1 if "bias_ih" in name else 0], [0], [0]]
