"""Recurrent cells: all positions at once with torch's fused kernel, or one position at a time.

Both forms use the same weights, so a decoder can use whichever its wiring allows.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.layers.feed_forward import Dropout
from limelight.models.cache import Cells
from limelight.shapes import Float

CellState = Sequence[Float[Tensor, "batch width hidden"]]
"""State of one layer: the hidden state, followed by the cell state for an LSTM."""


def rnn_step(inputs: Tensor, recurrent: Tensor, state: CellState) -> CellState:
    """h' = tanh(W x + U h) (Elman 1990)."""
    return (torch.tanh(inputs + recurrent),)


def gru_step(inputs: Tensor, recurrent: Tensor, state: CellState) -> CellState:
    """h' = (1 - z) n + z h, n = tanh(W x + r (U h)) (Cho et al. 2014; the gate r after the product, as in cuDNN)."""
    (hidden,) = state
    given_gates, given_new = inputs.tensor_split([2 * hidden.shape[-1]], dim=-1)
    recurrent_gates, recurrent_new = recurrent.tensor_split([2 * hidden.shape[-1]], dim=-1)
    reset, update = torch.sigmoid(given_gates + recurrent_gates).chunk(2, dim=-1)
    new = torch.tanh(torch.addcmul(given_new, reset, recurrent_new))
    return (torch.lerp(new, hidden, update),)


def lstm_step(inputs: Tensor, recurrent: Tensor, state: CellState) -> CellState:
    """c' = f c + i g, h' = o tanh(c') (Hochreiter & Schmidhuber 1997, with the forget gate of Gers et al. 2000)."""
    _, cell = state
    enter, forget, new, leave = (inputs + recurrent).chunk(4, dim=-1)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return torch.sigmoid(leave) * torch.tanh(cell), cell


class CellKind(NamedTuple):
    """A cell in its two forms. In `step`, `given` is the input's contribution to the gates, `recurrent` the state's."""

    fused: Callable[..., nn.RNNBase]
    step: Callable[[Tensor, Tensor, CellState], CellState]
    state_parts: int


KINDS = {
    "rnn": CellKind(nn.RNN, rnn_step, 1),
    "gru": CellKind(nn.GRU, gru_step, 1),
    "lstm": CellKind(nn.LSTM, lstm_step, 2),
}


def build_layers(
    kind: str, input_size: int, hidden: int, *, layers: int, bidirectional: bool, dropout: float
) -> nn.RNNBase:
    """Torch's fused layers of this cell, with the batch first.

    Recurrent weights are initialized as orthogonal (Saxe et al. 2014), biases as zero, and the LSTM's forget bias as
    one (Jozefowicz et al. 2015), so that gradients do not vanish over a sentence in the first updates.
    """
    between = dropout if layers > 1 else 0.0
    fused = KINDS[kind].fused(
        input_size, hidden, num_layers=layers, batch_first=True, bidirectional=bidirectional, dropout=between
    )
    for name, weight in fused.named_parameters():
        if name.startswith("bias"):
            nn.init.zeros_(weight)
            if kind == "lstm" and name.startswith("bias_ih"):
                nn.init.ones_(weight.detach()[hidden : 2 * hidden])
            continue
        initialize = nn.init.orthogonal_ if name.startswith("weight_hh") else nn.init.xavier_uniform_
        for gate in weight.detach().split(hidden):
            initialize(gate)
    return fused


class CellStack(nn.Module):
    """The decoder's recurrent layers.

    Args:
        fused: unidirectional layers from `build_layers`.
        dropout: between layers, for single positions; `fused` applies its own.
    """

    def __init__(self, fused: nn.RNNBase, *, dropout: float) -> None:
        super().__init__()
        self.fused = fused
        self.kind = next(kind for kind in KINDS.values() if type(fused) is kind.fused)
        self.dropout = Dropout(dropout)

    def forward(
        self, inputs: Float[Tensor, "batch target inputs"], states: Cells
    ) -> Float[Tensor, "batch target hidden"]:
        """The top layer's hidden state at every position, for a decoder whose inputs are all known in advance.

        `states` are the states of one hypothesis.
        """
        # (batch, 1, hidden) of each layer -> (layers, batch, hidden)
        parts = tuple(torch.cat(part, dim=1).transpose(0, 1).contiguous() for part in zip(*states.layers, strict=True))
        return self.fused(inputs, parts if len(parts) > 1 else parts[0])[0]

    def step(self, inputs: Float[Tensor, "batch width inputs"], states: Cells) -> Cells:
        """One position: the new states of all layers, the top layer's last."""
        after = []
        for depth, (weights, state) in enumerate(zip(self.fused.all_weights, states.layers, strict=True)):
            weight_in, weight_hidden, bias_in, bias_hidden = weights
            projected = functional.linear(self.dropout(inputs) if depth else inputs, weight_in, bias_in)
            recurrent = functional.linear(state[0], weight_hidden, bias_hidden)
            after.append(list(self.kind.step(projected, recurrent, state)))
            inputs = after[-1][0]
        return Cells(tuple(after))
