"""Embeddings of tokens and positions, and the row-wise int8 form of a matrix."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.errors import UserError
from limelight.shapes import Float, Int


def integer_rows(weight: Float[Tensor, "out in"]) -> tuple[Int[Tensor, "out in"], Float[Tensor, " out"]]:
    """int8 values and the scale of each row, so that `values * scale` is the row to within half a scale."""
    scales = weight.float().abs().amax(dim=1) / 127
    safe = scales.where(scales > 0, torch.ones_like(scales))
    return (weight.float() / safe[:, None]).round().to(torch.int8), safe


def draw_normal(rows: int, width: int, *, spread: float) -> Float[Tensor, "rows width"]:
    """Random vectors; only their shape where the default device is `meta`, on which torch would load a compiler first,
    for half a second."""
    drawn = torch.empty(rows, width)
    return drawn if drawn.is_meta else drawn.normal_() * spread


def projection_weight(output: nn.Module | None, embedding: "TokenEmbedding") -> Float[Tensor, "vocab features"]:
    """The matrix of the final linear layer: that of `output`, or the embedding's rows where there is none.

    Raises `TypeError` for a layer that keeps its weights in another form than a matrix.
    """
    if output is None:
        return embedding.output_weight()
    if isinstance(output, nn.Linear):
        return output.weight
    raise TypeError(f"the weights of a {type(output).__name__} are packed: ask the model that it was made from")


class TokenEmbedding(nn.Module):
    """A row per token, times sqrt(width) where asked (Vaswani et al. 2017, section 3.4).

    Padding is the last id. Its row is zero and stays zero: it gets no gradient here, and as output class it does not
    exist (`output_weight` leaves it out), so that tying cannot teach it anything either.
    """

    def __init__(self, size: int, width: int, *, scale: bool) -> None:
        super().__init__()
        self.padding = size - 1
        self.scale = math.sqrt(width) if scale else 1.0
        self.weight = nn.Parameter(draw_normal(size, width, spread=width**-0.5 if scale else 0.1))
        with torch.no_grad():
            self.weight[self.padding].zero_()

    def forward(self, ids: Int[Tensor, "..."]) -> Float[Tensor, "... model"]:
        """The vectors of the ids."""
        return functional.embedding(ids, self.weight, padding_idx=self.padding) * self.scale

    def output_weight(self) -> Float[Tensor, "vocab model"]:
        """The rows of all tokens that can be predicted, for a tied output projection (Press & Wolf 2017)."""
        return self.weight[: self.padding]


def sinusoids(length: int, d_model: int, *, layout: str = "interleaved") -> Float[Tensor, "length model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i+1) = cos(same) (Vaswani et al. 2017, section 3.5).

    Args:
        layout: `interleaved` is the paper's, sine and cosine side by side; `halves` has all sines before all cosines as
            in Marian. One is a permutation of the other's columns (for an even `d_model`).
    """
    pairs = (d_model + 1) // 2
    rates = torch.exp(torch.arange(pairs, dtype=torch.float64) * (-2 * math.log(10_000.0) / d_model))
    angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
    if layout == "interleaved":
        table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
    elif layout == "halves":
        table = torch.cat([angles.sin(), angles.cos()], dim=-1)
    else:
        raise UserError(f"unknown layout of sinusoids {layout!r}: there are 'interleaved' and 'halves'")
    return table[:, :d_model].float()


class SinusoidalPositions(nn.Module):
    """Adds the sinusoids; has no weights and no longest sentence.

    The table is a cache of a pure function: it is not stored with the model and grows when a longer sentence comes.
    """

    table: Tensor

    def __init__(self, d_model: int, *, layout: str = "interleaved", ready: int = 256) -> None:
        super().__init__()
        self.layout = layout
        table = torch.empty(ready, d_model)  # see `draw_normal`
        self.register_buffer(
            "table", table if table.is_meta else sinusoids(ready, d_model, layout=layout), persistent=False
        )

    def forward(self, embedded: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """Add positions 0, 1, ... along each row."""
        return embedded + self._reaching(embedded.shape[1])[: embedded.shape[1]].to(embedded.dtype)

    def at(
        self, embedded: Float[Tensor, "batch width model"], places: Int[Tensor, " batch"], *, most: int
    ) -> Float[Tensor, "batch width model"]:
        """Add to all of a row the position at which it stands; `most` is above every one of these."""
        return embedded + self._reaching(most)[places].to(embedded.dtype)[:, None]

    def _reaching(self, length: int) -> Float[Tensor, "_ model"]:
        """A table of at least so many positions. Callers use what is returned: another thread may put a table of its
        own, which may be shorter, in the place of the one that is kept."""
        table = self.table
        if length > table.shape[0]:
            with torch.inference_mode(False):  # a table grown while translating must still serve training
                table = sinusoids(2 * length, table.shape[-1], layout=self.layout).to(table)
            self.table = table
        return table


class LearnedPositions(nn.Module):
    """One trained vector per position (Gehring et al. 2017); it does not generalize to longer sequences."""

    def __init__(self, d_model: int, *, longest: int) -> None:
        super().__init__()
        self.table = nn.Parameter(draw_normal(longest, d_model, spread=d_model**-0.5))

    def forward(self, embedded: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """Add positions 0, 1, ... along each row. Raises `UserError` beyond the last trained position."""
        self._require(embedded.shape[1])
        return embedded + self.table[: embedded.shape[1]].to(embedded.dtype)

    def at(
        self, embedded: Float[Tensor, "batch width model"], places: Int[Tensor, " batch"], *, most: int
    ) -> Float[Tensor, "batch width model"]:
        """Add to all of a row the position at which it stands; `most` is above every one of these."""
        if most > self.table.shape[0]:
            self._require(int(places.max()) + 1)
        return embedded + self.table[places].to(embedded.dtype)[:, None]

    def _require(self, length: int) -> None:
        if length > self.table.shape[0]:
            raise UserError(
                f"a sequence of {length} tokens is longer than the {self.table.shape[0]} learned positions of this "
                "model; shorten it, or train with model.positions=sinusoidal or a larger model.max_positions"
            )


class RotaryPositions(nn.Module):
    """Turns pairs of a query's or key's components by an angle that grows with its position (Su et al. 2021, eq. 34).

    The score of two rotated vectors depends on their distance alone.
    """

    rates: Tensor

    def __init__(self, head_size: int) -> None:
        super().__init__()
        if head_size % 2:
            raise UserError(f"rotary positions turn pairs, so the head size must be even, not {head_size}")
        rates = torch.empty(head_size // 2)  # see `draw_normal`
        if not rates.is_meta:
            pairs = torch.arange(head_size // 2, dtype=torch.float64)
            rates = torch.exp(pairs * (-2 * math.log(10_000.0) / head_size)).float()
        self.register_buffer("rates", rates, persistent=False)

    def forward(
        self, heads: Float[Tensor, "batch heads length head_size"], positions: Int[Tensor, "..."]
    ) -> Float[Tensor, "batch heads length head_size"]:
        """Rotate by `positions`, which broadcast over (batch, heads, length)."""
        angles = positions[..., None] * self.rates
        cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
        even, odd = heads[..., 0::2], heads[..., 1::2]
        # (..., head_size / 2, 2) -> (..., head_size): components stay in their interleaved order
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)
