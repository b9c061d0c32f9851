"""Whole searches by the model itself, for requests that ask for nothing that its compiled code does not do.

The searches of `greedy.py` and `beam.py` say what is found; a model that has code for it finds the same, without
Python between its steps.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.decoding.search import gains
from limelight.decoding.utf8 import Utf8
from limelight.models.interface import Path, Query, Seq2Seq

Kinds = npt.NDArray[np.uint8]


def is_plain(request: Request) -> bool:
    """Whether a request is a search without rules, forced tokens, phrases, lists and samples."""
    settings = request.settings
    if settings.sampling is not None or settings.rules or any(request.constraints):
        return False
    return not request.prefix and request.first is None and request.shortlist is None


def kinds_of_bytes(model: Seq2Seq, utf8: Utf8 | None) -> Kinds:
    """`Query.kinds` for a vocabulary."""
    kinds = np.zeros(model.target_padding + 1, dtype=np.uint8)
    if utf8 is not None:
        kinds[: len(utf8.values)] = utf8.is_stray + 2 * utf8.is_high.astype(np.uint8)
    return kinds


def search_together(model: Seq2Seq, requests: Sequence[Request], kinds: Kinds) -> list[list[Hypothesis] | None]:
    """The hypotheses of plain requests of the same width, best first; None for those whose search is left to others."""
    queries = []
    for each in requests:
        how = each.settings
        queries.append(
            Query(
                each.source, how.beam_size, how.n_best, each.limit, how.length_penalty, how.length_offset, how.patience,
                how.prune, kinds,
            )
        )  # fmt: skip
    return [
        None if paths is None else [_hypothesis(path, request) for path in paths]
        for paths, request in zip(model.search(queries), requests, strict=True)
    ]


def _hypothesis(path: Path, request: Request) -> Hypothesis:
    score = path.log_probability / request.settings.penalty.at(float(len(path.ids) + path.finished))
    return Hypothesis(path.ids, score, path.log_probability, path.finished, gains(path.sums))
