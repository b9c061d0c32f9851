"""Searches for a batch of sources as functions from tensors to hypotheses."""

import math
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from limelight.decoding.engine import Engine
from limelight.decoding.request import Hypothesis, Request, SearchSettings
from limelight.decoding.sampling import Sampling
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
    """Greedy search: the most probable token at every step; among equal ones the lower id.

    Args:
        source: source ids, each row with its end, padded.
        max_lengths: maximum tokens of each row, the end not counted. A row that does not end within this limit is
            truncated, with `finished=False`.
        prefix: forced first target tokens of each row, without start and end; a longer one raises the row's limit.

    Raises `UserError` for a wrong number of prefixes or invalid ids.
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
    """Beam search: the `n_best` hypotheses of each source, finished ones first, then unfinished ones, each best first.

    Limits and prefixes are as in `greedy_search`. If fewer than `n_best` hypotheses finish within the limit, the best
    active ones follow with `finished=False`; there are fewer results only if there are fewer different hypotheses.
    The search stops only when no active hypothesis can win any more. A beam size of 1 is greedy search.

    Args:
        length_penalty: alpha of `LengthPenalty`, 0 to 10; below 0 the stopping rule would not be exact.

    Raises `UserError` for a beam size below 1, `n_best` outside 1 to `beam_size`, a negative `length_penalty`, and
    invalid prefixes.
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
    """One sampled hypothesis of each source; limits and prefixes as in `greedy_search`.

    `log_probability` is that of the drawn tokens before temperature, top-k and top-p. The draws for a source depend
    only on the source, its row number and `sampling.seed`.
    """
    requests = _requests(source, source_valid, max_lengths, prefix, SearchSettings(sampling=sampling))
    numbered = [replace(request, substream=(row,)) for row, request in enumerate(requests)]
    return [found[0] for found in decode_batch(model, numbered)]


def decode_batch(model: Seq2Seq, requests: Sequence[Request]) -> list[list[Hypothesis]]:
    """Decode all requests together; the hypotheses of each. Raises the error of the first request that fails."""
    longest = max((len(request.source) * request.width for request in requests), default=0)
    engine = Engine(model, batch_tokens=max(1, longest) * max(1, len(requests)))
    numbers = []
    for row, request in enumerate(requests, start=1):
        try:
            numbers.append(engine.submit(request))
        except UserError as error:
            raise UserError(f"request {row}: {error}") from None
    return found_by(engine, numbers)


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
