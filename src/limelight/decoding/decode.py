"""Searches of a batch of sources as functions: tensors in, hypotheses out."""

import math
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from limelight.decoding.engine import Engine
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.decoding.sampling import Sampling
from limelight.decoding.settings import SearchSettings
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq
from limelight.shapes import Bool, Int


def greedy_search(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    *,
    max_lengths: Int[Tensor, " batch"],
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """The hypothesis of each source that takes the most probable token at every step; of equal ones the lower id.

    Args:
        source: source ids, each row with its end, padded.
        max_lengths: most tokens of each row, the end not counted. A row that has so many and does not end there is
            returned as it is, with `finished=False`.
        prefix: target tokens each row has to begin with, without start and end; a longer one raises the row's limit.

    Raises `UserError` for prefixes that do not fit.
    """
    requests = _requests(source, source_valid, max_lengths, prefix, SearchSettings())
    return [found[0] for found in decode_batch(model, requests)]


def beam_search(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    *,
    beam_size: int,
    max_lengths: Int[Tensor, " batch"],
    length_penalty: float = 0.6,
    n_best: int = 1,
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of each source, finished ones first, each kind best first. A beam of 1 is greedy search.

    Limits and prefixes are as in `greedy_search`. Where fewer than `n_best` hypotheses end within the limit, the best
    active ones follow with `finished=False`; there are fewer results only where there are not so many different ones.
    Nothing that could win is left out: the search is as patient as it has to be.

    Args:
        length_penalty: alpha of `LengthPenalty`; 0 to 10; below 0 the stopping rule would not be exact.

    Raises `UserError` for a beam below 1, `n_best` outside of 1 to `beam_size`, a negative `length_penalty`, and
    prefixes that do not fit.
    """
    settings = SearchSettings(beam_size=beam_size, n_best=n_best, length_penalty=length_penalty, patience=math.inf)
    return decode_batch(model, _requests(source, source_valid, max_lengths, prefix, settings))


def sample_search(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    *,
    max_lengths: Int[Tensor, " batch"],
    sampling: Sampling,
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """One drawn hypothesis of each source; limits and prefixes as in `greedy_search`.

    `log_probability` is what the model gives the drawn tokens, before temperature and cuts. What is drawn of a source
    is a function of it, its row number and `sampling.seed`.
    """
    requests = _requests(source, source_valid, max_lengths, prefix, SearchSettings(sampling=sampling))
    numbered = [replace(request, substream=(row,)) for row, request in enumerate(requests)]
    return [found[0] for found in decode_batch(model, numbered)]


def decode_batch(model: Seq2Seq, requests: Sequence[Request]) -> list[list[Hypothesis]]:
    """What is found for each request, all of them at a time. Raises what the first that fails has failed with."""
    longest = max((len(request.source) * request.width for request in requests), default=0)
    engine = Engine(model, batch_tokens=max(1, longest) * max(1, len(requests)))
    numbers = []
    for row, request in enumerate(requests, start=1):
        try:
            numbers.append(engine.submit(request))
        except UserError as error:
            raise UserError(f"request {row}: {error}") from None
    found: dict[int, list[Hypothesis]] = {}
    while engine.busy:
        for outcome in engine.step():
            if outcome.error is not None:
                raise outcome.error
            found[outcome.id] = outcome.hypotheses
    return [found[number] for number in numbers]


def _requests(
    source: Tensor,
    source_valid: Tensor,
    max_lengths: Tensor,
    prefix: Sequence[Sequence[int]] | None,
    settings: SearchSettings,
) -> list[Request]:
    forced = [()] * len(source) if prefix is None else prefix
    if len(forced) != len(source):
        raise UserError(
            f"{len(forced)} prefixes for {len(source)} sources: give one for each, an empty one forces nothing"
        )
    rows = zip(source, source_valid, max_lengths.tolist(), forced, strict=True)
    return [Request(ids[valid].tolist(), limit, settings, tuple(begin)) for ids, valid, limit, begin in rows]
