"""Searches for a batch of sources as functions from tensors to hypotheses."""

import math
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from limelight.decoding.engine import Engine
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.models.interface import Seq2Seq
from limelight.shapes import Bool, Int

Sources = Int[Tensor, "batch source"]
Valid = Bool[Tensor, "batch source"]
Lengths = Int[Tensor, " batch"]
Prefixes = Sequence[Sequence[int]] | None


def greedy_search(
    model: Seq2Seq, source: Sources, source_valid: Valid, *, max_lengths: Lengths, prefix: Prefixes = None
) -> list[Hypothesis]:
    """The most probable token at every step; `max_lengths` are those of each row, and `prefix` its first tokens."""
    requests = _requests(source, source_valid, max_lengths, prefix, SearchSettings())
    return [found[0] for found in decode_batch(model, requests)]


def beam_search(
    model: Seq2Seq, source: Sources, source_valid: Valid, *, beam_size: int, max_lengths: Lengths,
    length_penalty: float = 0.6, n_best: int = 1, prefix: Prefixes = None,
) -> list[list[Hypothesis]]:  # fmt: skip
    """The `n_best` hypotheses of each source; the search stops only when no active hypothesis can win any more."""
    settings = SearchSettings(beam_size=beam_size, n_best=n_best, length_penalty=length_penalty, patience=math.inf)
    return decode_batch(model, _requests(source, source_valid, max_lengths, prefix, settings))


def sample_search(
    model: Seq2Seq, source: Sources, source_valid: Valid, *, max_lengths: Lengths, sampling: Sampling,
    prefix: Prefixes = None,
) -> list[Hypothesis]:  # fmt: skip
    """One sampled hypothesis of each source; draws depend on the source, its row number and the seed."""
    requests = _requests(source, source_valid, max_lengths, prefix, SearchSettings(sampling=sampling))
    numbered = [replace(request, substream=(row,)) for row, request in enumerate(requests)]
    return [found[0] for found in decode_batch(model, numbered)]


def decode_batch(model: Seq2Seq, requests: Sequence[Request]) -> list[list[Hypothesis]]:
    """Decode all requests together; the hypotheses of each. Raises the error of the first request that fails."""
    longest = max((len(request.source) * request.width for request in requests), default=0)
    engine = Engine(model, batch_tokens=max(1, longest) * max(1, len(requests)))
    return found_by(engine, [engine.submit(request) for request in requests])


def found_by(engine: Engine, numbers: Sequence[int]) -> list[list[Hypothesis]]:
    """The hypotheses of requests of an engine, which works until it has none left."""
    found: dict[int, list[Hypothesis]] = {}
    while engine.busy:
        for outcome in engine.step():
            if outcome.error is not None:
                raise outcome.error
            found[outcome.id] = outcome.hypotheses
    return [found[number] for number in numbers]


def _requests(
    source: Tensor, source_valid: Tensor, max_lengths: Tensor, prefix: Prefixes, settings: SearchSettings
) -> list[Request]:
    rows = zip(source, source_valid, max_lengths.tolist(), prefix or [()] * len(source), strict=True)
    return [Request(ids[valid].tolist(), limit, settings, tuple(begin)) for ids, valid, limit, begin in rows]
