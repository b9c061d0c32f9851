"""Embeddings of tokens and positions, and the output projection."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.config.models import POSITIONS
from limelight.errors import UserError
from limelight.shapes import Float, Int

register_positions = POSITIONS.register
"""A decorator: `model.positions=name` is this class or function, which makes a module from the model's configuration:
one with `forward` and `at` as `SinusoidalPositions`, or a subclass of `RotaryPositions`."""


def draw_normal(rows: int, width: int, *, spread: float) -> Float[Tensor, "rows width"]:
    """A normally distributed tensor with standard deviation `spread`. On the `meta` device it is left uninitialized:
    torch would load a compiler first, which takes half a second."""
    drawn = torch.empty(rows, width)
    return drawn if drawn.is_meta else drawn.normal_() * spread


def output_layer(width: int, size: int) -> nn.Linear:
    """A new final linear layer, with an output for each of the `size` tokens except padding."""
    output = nn.Linear(width, size - 1, bias=False)
    nn.init.xavier_uniform_(output.weight)
    return output


class TokenEmbedding(nn.Module):
    """Token embedding, optionally multiplied by sqrt(width) (Vaswani et al. 2017, section 3.4).

    Padding is the last id. Its row is zero and stays zero: it gets no gradient here, and `output_weight` excludes it,
    so that a tied output projection does not train it either.
    """

    def __init__(self, size: int, width: int, *, scale: bool) -> None:
        super().__init__()
        self.padding = size - 1
        self.scale = math.sqrt(width) if scale else 1.0
        self.weight = nn.Parameter(draw_normal(size, width, spread=width**-0.5 if scale else 0.1))
        with torch.no_grad():
            self.weight[self.padding].zero_()

    def forward(self, ids: Int[Tensor, "..."]) -> Float[Tensor, "... model"]:
        return functional.embedding(ids, self.weight, padding_idx=self.padding) * self.scale

    def output_weight(self) -> Float[Tensor, "vocab model"]:
        """The rows of all tokens that can be predicted, for a tied output projection (Press & Wolf 2017)."""
        return self.weight[: self.padding]


class OutputProjection(ABC):
    """The final linear layer of a model: `output`, or the rows of the target embedding if it is None."""

    output: nn.Module | None
    output_bias: nn.Parameter | None

    @property
    @abstractmethod
    def target_embedding(self) -> TokenEmbedding:
        """The embedding of target tokens."""

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        """Features to logits, without softmax."""
        if self.output is None:
            return functional.linear(features, *self.output_weights())
        logits = self.output(features)
        return logits if self.output_bias is None else logits + self.output_bias

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        """Matrix and bias. Raises `TypeError` for a layer that does not store its weights as a matrix."""
        if self.output is None:
            return self.target_embedding.output_weight(), self.output_bias
        if isinstance(self.output, nn.Linear):
            return self.output.weight, self.output_bias
        name = type(self.output).__name__
        raise TypeError(f"the weights of a {name} are packed; use the model it was made from")


def sinusoids(
    positions: Int[Tensor, "..."], d_model: int, *, layout: str = "interleaved"
) -> Float[Tensor, "... model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i+1) = cos(same) (Vaswani et al. 2017, section 3.5).

    Args:
        layout: `interleaved` alternates sine and cosine as in the paper; `halves` has all sines before all cosines, as
            in transformers. For an even `d_model`, one is a permutation of the other's columns. `inclusive` is `halves`
            with rates that end with 1 / 10000 itself, as in tensor2tensor, Marian and fairseq.
    """
    pairs = (d_model + 1) // 2
    steps = max(pairs - 1, 1) if layout == "inclusive" else d_model / 2
    wide = torch.float32 if positions.device.type == "mps" else torch.float64
    pair = torch.arange(pairs, dtype=wide, device=positions.device)
    angles = positions[..., None] * torch.exp(pair * (-math.log(10_000.0) / steps))
    if layout == "interleaved":
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    else:
        table = torch.cat([angles.sin(), angles.cos()], dim=-1)
    return table[..., :d_model].float()


class SinusoidalPositions(nn.Module):
    """Adds sinusoidal position encodings. There are no weights and no maximum length."""

    def __init__(self, *, layout: str = "interleaved") -> None:
        super().__init__()
        self.layout = layout

    def forward(self, embedded: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """Add positions 0, 1, ... along each row."""
        return embedded + self._encode(torch.arange(embedded.shape[1], device=embedded.device), embedded)

    def at(
        self, embedded: Float[Tensor, "batch width model"], places: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width model"]:
        """Add to each row the vector of its position in `places`."""
        return embedded + self._encode(places, embedded)[:, None]

    def _encode(self, positions: Tensor, like: Tensor) -> Tensor:
        return sinusoids(positions, like.shape[-1], layout=self.layout).to(like.dtype)


class LearnedPositions(nn.Module):
    """Adds one trained vector per position (Gehring et al. 2017); longer sequences are not supported."""

    def __init__(self, d_model: int, *, longest: int) -> None:
        super().__init__()
        self.table = nn.Parameter(draw_normal(longest, d_model, spread=d_model**-0.5))

    def forward(self, embedded: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """Add positions 0, 1, ... along each row. Raises `UserError` beyond the last trained position."""
        self.require(embedded.shape[1])
        return embedded + self.table[: embedded.shape[1]].to(embedded.dtype)

    def at(
        self, embedded: Float[Tensor, "batch width model"], places: Int[Tensor, " batch"]
    ) -> Float[Tensor, "batch width model"]:
        """Add to each row the vector of its position in `places`. Raises `UserError` beyond the last one."""
        if places.is_cpu:  # a GPU would have to be waited for; an engine bounds its requests
            self.require(int(places.max()) + 1)
        return embedded + self.table[places].to(embedded.dtype)[:, None]

    def require(self, length: int) -> None:
        """Raise `UserError` beyond the last trained position."""
        if length > self.table.shape[0]:
            raise UserError(
                f"a sequence of {length} tokens is longer than the {self.table.shape[0]} learned positions of this "
                "model; shorten it, or train with model.positions=sinusoidal or a larger model.max_positions"
            )


def rotary_rates(head_size: int) -> Float[Tensor, " size"]:
    """The angle between adjacent positions for each pair of components (Su et al. 2021, eq. 15)."""
    pairs = torch.arange(head_size // 2, dtype=torch.float64)
    return torch.exp(pairs * (-2 * math.log(10_000.0) / head_size)).float()


class RotaryPositions(nn.Module):
    """Rotates pairs of components of queries and keys by an angle proportional to the position (Su et al. 2021, eq.
    34).

    The dot product of two rotated vectors depends only on the distance of their positions.
    """

    rates: Tensor

    def __init__(self, head_size: int) -> None:
        super().__init__()
        if head_size % 2:
            raise UserError(f"rotary positions rotate pairs of components: the head size must be even, not {head_size}")
        rates = torch.zeros(head_size // 2)  # see `draw_normal`
        self.register_buffer("rates", rates if rates.is_meta else rotary_rates(head_size), persistent=False)

    def forward(
        self, heads: Float[Tensor, "batch heads length head_size"], positions: Int[Tensor, "..."]
    ) -> Float[Tensor, "batch heads length head_size"]:
        """Rotate by `positions`, which broadcast over (batch, heads, length)."""
        angles = positions[..., None] * self.rates
        # Pairs as complex numbers are read in order; `even * cos - odd * sin` would read every second number.
        turns = torch.view_as_complex(torch.stack([angles.cos(), angles.sin()], dim=-1))
        wide = heads.to(torch.promote_types(heads.dtype, torch.float32))
        pairs = torch.view_as_complex(wide.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * turns).flatten(-2).to(heads.dtype)
