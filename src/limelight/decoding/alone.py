"""A whole search by the model itself, for requests that ask for nothing that its compiled code does not do.

The searches of `greedy.py` and `beam.py` say what is found; a model that has code for it finds the same, without
Python between its steps.
"""

import numpy as np
import numpy.typing as npt

from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.decoding.search import gains
from limelight.decoding.utf8 import Utf8
from limelight.models.interface import Query, Seq2Seq

Kinds = npt.NDArray[np.uint8]


def is_plain(request: Request) -> bool:
    """Whether a request is a search for one translation, without rules, forced tokens, phrases, lists or samples."""
    settings = request.settings
    if settings.sampling is not None or settings.rules or settings.n_best != 1 or any(request.constraints):
        return False
    return not request.prefix and request.first is None and request.shortlist is None


def kinds_of_bytes(model: Seq2Seq, utf8: Utf8 | None) -> Kinds:
    """`Query.kinds` for a vocabulary."""
    kinds = np.zeros(model.target_padding + 1, dtype=np.uint8)
    if utf8 is not None:
        kinds[: len(utf8.values)] = utf8.is_stray + 2 * utf8.is_high.astype(np.uint8)
    return kinds


def search_alone(model: Seq2Seq, request: Request, kinds: Kinds) -> Hypothesis | None:
    """The result of a plain request; None if the search is left to others."""
    how = request.settings
    found = model.search(
        Query(
            request.source, how.beam_size, request.limit, how.length_penalty, how.length_offset, how.patience,
            how.prune, kinds,
        )
    )  # fmt: skip
    if found is None:
        return None
    score = found.log_probability / how.penalty.at(float(len(found.ids) + found.finished))
    return Hypothesis(found.ids, score, found.log_probability, found.finished, gains(found.sums))
