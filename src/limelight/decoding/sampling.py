"""Sampling: each token is drawn from the predicted distribution, with temperature, top-k and top-p."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from limelight.decoding.top import Top, top_logits_with_ties
from limelight.errors import UserError
from limelight.shapes import Float, Int

COLDEST = 1e-6
"""The minimum temperature: logits divided by it are still finite in fp32, and only the most probable token is drawn."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to sample: first the temperature is applied, then top-k, then top-p among the remaining tokens."""

    temperature: float = 1.0
    """Logits are divided by it: below 1 sharpens, above 1 flattens."""
    top_k: int = 0
    """Only the k most probable tokens may be drawn (among equal ones the lower ids); 0 permits all."""
    top_p: float = 1.0
    """Only the smallest set of most probable tokens that together reach p may be drawn (Holtzman et al. 2020, 3.1)."""
    seed: int | None = None
    """Makes draws reproducible; None takes a new seed every time."""

    def __post_init__(self) -> None:
        if 0 <= self.temperature < COLDEST:
            raise UserError(
                f"temperature {self.temperature:g} is too low to sample: use greedy search (a beam of 1, no "
                f"sampling), or a temperature of at least {COLDEST:g}"
            )
        if not 0 < self.temperature < float("inf"):
            raise UserError(f"temperature must be above 0 and finite, not {self.temperature}")
        if self.top_k < 0:
            raise UserError(f"top_k must be at least 1, or 0 to permit all tokens, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p must be above 0 and at most 1 (1 permits all tokens), not {self.top_p}")

    def generator(self, substream: Sequence[int] = ()) -> np.random.Generator:
        """The random generator of one request, determined by the seed and the request's substream alone.

        Without a seed it is different each time.
        """
        if self.seed is None:
            return np.random.default_rng()
        return np.random.default_rng(np.random.SeedSequence(int(self.seed) % 2**64, spawn_key=tuple(substream)))


def draw(logits: Float[Tensor, "rows vocab"], how: Sampling, uniform: Float[Tensor, " rows"]) -> Int[Tensor, " rows"]:
    """Sample a column of each row by inverting the cumulative distribution of the permitted tokens at `uniform`, in
    [0, 1).

    A row's draw depends only on its own logits and number, not on the other rows of the batch.
    """
    permitted = permit(logits / how.temperature, how.top_k, how.top_p)
    sums = permitted.logits.softmax(dim=-1).cumsum(dim=-1, dtype=_precise(logits.device))
    # The first sum above u * total: a token of probability 0 is never drawn.
    below_one = uniform.to(sums.dtype).to(sums.device).clamp(max=1 - torch.finfo(sums.dtype).eps)
    ranks = torch.searchsorted(sums, below_one[:, None] * sums[:, -1:], right=True)
    return permitted.ids.gather(-1, ranks.clamp(max=sums.shape[-1] - 1))[:, 0]  # it is beyond the last for NaN


def permit(logits: Float[Tensor, "batch vocab"], top_k: int, top_p: float) -> Top:
    """The logits that may be drawn and their ids; -inf for those that top-p excludes.

    Only as much of the vocabulary is sorted as necessary: all of it for top-p without top-k.
    """
    vocab = logits.shape[-1]
    if top_k == 0 and top_p == 1:
        return Top(logits, torch.arange(vocab, device=logits.device).expand_as(logits))
    if 0 < top_k < vocab:
        top = top_logits_with_ties(logits, top_k)
    else:
        top = Top(*logits.sort(dim=-1, descending=True, stable=True))
    if top_p == 1:
        return top
    # A token stays if those before it have not reached p yet; so the first always does.
    reached = top.logits.to(_precise(logits.device)).softmax(dim=-1).cumsum(dim=-1)
    before = functional.pad(reached[..., :-1], (1, 0))
    return top._replace(logits=top.logits.masked_fill(before >= top_p, -torch.inf))


def _precise(device: torch.device) -> torch.dtype:
    """The type for sums over a vocabulary; Apple's GPUs have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64
