"""The position-wise feed-forward network, and dropout that is fast on a CPU."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.config.models import FEED_FORWARDS
from limelight.shapes import Float

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


class Dropout(nn.Module):
    """Zero each element with probability `p` in training, and scale the rest by 1 / (1 - p) (Srivastava et al. 2014).
    On a CPU p is rounded to a 256th, from 1/256 to 255/256.

    Draws from the device's global torch generator, so that restoring its state reproduces the mask exactly.
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, inputs: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """Apply dropout in training; otherwise return the inputs."""
        if not self.training or self.p == 0:
            return inputs
        if inputs.device.type != "cpu":
            return functional.dropout(inputs, self.p)
        dropped = max(1, min(255, round(self.p * 256)))
        return _Thin.apply(inputs.contiguous(), _kept(inputs, dropped), 256 / (256 - dropped))


class _Thin(torch.autograd.Function):
    """inputs * kept * scale, saving one byte per element for the backward pass."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, kept: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(kept)
        ctx.scale = scale
        return _thin(inputs, kept).mul_(scale)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (kept,) = ctx.saved_tensors
        return _thin(gradient.contiguous(), kept).mul_(ctx.scale), None, None


def _kept(inputs: Tensor, dropped: int) -> Tensor:
    """A mask with one byte per element: 1 to keep, 0 to drop.

    Compared in place as signed bytes: a comparison into a new boolean tensor takes ten times as long.
    """
    return _random_bytes(inputs.numel()).view(torch.int8).ge_(dropped - 128).view(inputs.shape)


def _thin(values: Tensor, kept: Tensor) -> Tensor:
    """A new tensor with the values where `kept` is 1, and zeros elsewhere.

    Computed as a product of integers of the same width: torch has a fast path for equal types only, and converting
    bytes to integers is much cheaper than converting them to floating-point numbers.
    """
    integers = _INTEGERS[values.element_size()]
    return kept.to(integers).mul_(values.view(integers)).view(values.dtype)


def _random_bytes(count: int) -> Tensor:
    """`count` independent uniform bytes from torch's generator, eight per draw."""
    words = torch.empty((count + 7) // 8, dtype=torch.int64)
    if (
        torch.compiler.is_compiling()
    ):  # torch.compile has no `random_`; `randint` draws the same numbers in twice the time
        words = torch.randint(-(2**63), 2**63 - 1, words.shape) ^ -(2**63)
    else:
        words.random_(-(2**63), None)
    return words.view(torch.uint8)[:count]


register_feed_forward = FEED_FORWARDS.register
"""A decorator: `model.feed_forward=name` is this class; see `FeedForward` for its arguments."""

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "swish": nn.SiLU}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, equation 2), optionally with another activation."""

    def __init__(self, d_model: int, d_ff: int, *, activation: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = Dropout(dropout)
        self.outer = nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, inputs: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        """Apply the network to each position."""
        return self.outer(self.dropout(self.activation(self.inner(inputs))))


class GatedFeedForward(FeedForward):
    """FFN(x) = (act(x W_1 + b_1) * (x V + c)) W_2 + b_2 (Shazeer 2020, "GLU Variants Improve Transformer"): SwiGLU with
    the activation `swish`, GEGLU with `gelu`, ReGLU with `relu`."""

    def __init__(self, d_model: int, d_ff: int, *, activation: str = "swish", dropout: float = 0.0) -> None:
        super().__init__(d_model, d_ff, activation=activation, dropout=dropout)
        self.gate = nn.Linear(d_model, d_ff)
        nn.init.xavier_uniform_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)

    def forward(self, inputs: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        return self.outer(self.dropout(self.activation(self.inner(inputs)) * self.gate(inputs)))
