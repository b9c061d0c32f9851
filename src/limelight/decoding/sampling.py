"""Sampling: each piece drawn from what the model predicts, sharpened or cut as asked."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from limelight.decoding.engine import decode_batch
from limelight.decoding.greedy import PathSearch
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.search import no_numbers, requests_for
from limelight.decoding.top import Top, top_logits_with_ties
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq
from limelight.shapes import Bool, Float, Int

COLDEST = 1e-6
"""The lowest temperature: a logit divided by it is still a number in fp32, and only the most probable is drawn."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to draw. First comes the temperature, then top-k, then top-p within what is left."""

    temperature: float = 1.0
    """Logits are divided by it: below 1 sharpens, above 1 flattens."""
    top_k: int = 0
    """Only the k most probable pieces may be drawn (of equal ones the lower ids); 0 permits all."""
    top_p: float = 1.0
    """Only the smallest set of most probable pieces that together reach p may be drawn (Holtzman et al. 2020, 3.1)."""
    seed: int | None = None
    """Draws the same again; None draws afresh every time."""

    def __post_init__(self) -> None:
        if 0 <= self.temperature < COLDEST:
            raise UserError(
                f"temperature {self.temperature:g} leaves nothing to draw: use greedy search (a beam of 1, no "
                f"sampling), or a temperature of at least {COLDEST:g}"
            )
        if not 0 < self.temperature < float("inf"):
            raise UserError(f"temperature must be above 0 and finite, not {self.temperature}")
        if self.top_k < 0:
            raise UserError(f"top_k must be at least 1, or 0 to permit all pieces, not {self.top_k}")
        if not 0 < self.top_p <= 1:
            raise UserError(f"top_p must be above 0 and at most 1 (1 permits all pieces), not {self.top_p}")


def sample_search(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    *,
    max_lengths: Int[Tensor, " batch"],
    sampling: Sampling,
    generator: torch.Generator | None = None,
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """One drawn hypothesis of each source; limits and prefixes as in `greedy_search`.

    `log_probability` is what the model gives the drawn pieces, before temperature and cuts. A `generator` (on the
    device of `source`) goes on with its numbers over several calls; without one `sampling.seed` begins a new one.
    """
    search = path_search(model, sampling, generator or generator_for(sampling, source.device))
    requests = requests_for(model, max_lengths.tolist(), prefix)
    return [found[0] for found in decode_batch(model, search, source, source_valid, requests)]


def path_search(model: Seq2Seq, sampling: Sampling, generator: torch.Generator, width: int = 1) -> PathSearch:
    """The search that draws `width` hypotheses of each source."""

    def choose(logits: Float[Tensor, "rows vocab"]) -> Int[Tensor, " rows"]:
        return draw(logits, sampling, generator)

    return PathSearch(width, choose=choose, start_id=model.start_id, end_id=model.end_id)


def generator_for(sampling: Sampling, device: torch.device) -> torch.Generator:
    """A source of random numbers of its own: nothing else that draws is disturbed."""
    generator = torch.Generator(device)
    if sampling.seed is None:
        generator.seed()
    else:
        generator.manual_seed(sampling.seed)
    return generator


def draw(logits: Float[Tensor, "batch vocab"], sampling: Sampling, generator: torch.Generator) -> Int[Tensor, " batch"]:
    """An id for each row. Raises `RunError` where there are no probabilities to draw with."""
    permitted = permit(logits / sampling.temperature, sampling.top_k, sampling.top_p)
    probabilities = permitted.logits.softmax(dim=-1)
    if probabilities[:, 0].isnan().any():  # one that is no number makes its whole row so
        raise no_numbers()
    places = torch.multinomial(probabilities, 1, generator=generator)
    return permitted.ids.gather(-1, places)[:, 0]


def permit(logits: Float[Tensor, "batch vocab"], top_k: int, top_p: float) -> Top:
    """The logits that may be drawn and their ids; -inf for those that top-p rules out.

    Only as much of the vocabulary is sorted as the cuts need: all of it for top-p alone.
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
    # A piece stays if those before it have not reached p yet; so the first always does.
    reached = top.logits.to(_precise(logits.device)).softmax(dim=-1).cumsum(dim=-1)
    before = functional.pad(reached[..., :-1], (1, 0))
    return top._replace(logits=top.logits.masked_fill(before >= top_p, -torch.inf))


def _precise(device: torch.device) -> torch.dtype:
    """For sums over a vocabulary; Apple's GPUs have no float64."""
    return torch.float32 if device.type == "mps" else torch.float64
