"""Pieces to vectors."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.shapes import Float, Int


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
