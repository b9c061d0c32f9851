"""A request to the engine: one source with its search settings."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from limelight.decoding.constraints import Constraints
from limelight.decoding.host import Integers
from limelight.decoding.rules import RULES
from limelight.decoding.settings import SearchSettings, check_beam
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq

FREE = Constraints()
"""No constraints."""


@dataclass(frozen=True, slots=True)
class Request:
    """One source with its own settings. The result depends only on the model and the request, not on other requests."""

    source: Sequence[int]
    """Source ids, with the end; the prompt of a language model has no end and may be empty."""
    max_tokens: int
    """Maximum tokens of a hypothesis, the end not counted. Longer ones are truncated and unfinished."""
    settings: SearchSettings = field(default_factory=SearchSettings)
    prefix: tuple[int, ...] = ()
    """Forced first tokens of every hypothesis. Together with phrases they raise `max_tokens`: forced tokens are never
    truncated."""
    first: int | None = None
    """The first input token of the decoder, not part of the hypothesis; default: the model's start id."""
    shortlist: Integers | None = field(default=None, compare=False)
    """Target ids that are scored, ascending, including the end; None scores all."""
    substream: tuple[int, ...] = ()
    """Selects the random stream for the sampling seed: requests with the same seed have different ones."""
    constraints: Constraints = FREE
    """Phrases to include and to exclude. A forced prefix may contain excluded ones."""
    is_draft: bool = False
    """Whether its hypotheses are not part of a translation, but in a language between: a stream does not show them."""

    @property
    def limit(self) -> int:
        """Maximum tokens of a hypothesis, including forced ones."""
        needed = self.constraints.length if self.constraints.include else 0
        return max(self.max_tokens, len(self.prefix) + needed)

    @property
    def width(self) -> int:
        """Number of active hypotheses."""
        settings = self.settings
        return settings.beam_size if settings.sampling is None else settings.n_best


def check_request(request: Request, model: Seq2Seq) -> None:
    """Raise `UserError` for invalid settings, and for ids that the model does not have."""
    settings = request.settings
    if settings.sampling is None:
        check_beam(settings.beam_size, settings.n_best, settings.length_penalty)
    elif settings.beam_size != 1 or settings.n_best < 1:
        raise UserError(
            f"beam_size={settings.beam_size}, n_best={settings.n_best}: sampling has a beam_size of 1, and n_best draws"
        )
    for name, value in settings.rules:
        if name not in RULES:
            raise UserError(f"unknown rule {name!r}; rules are {', '.join(RULES)}")
        RULES[name](value)
    if request.max_tokens < 0:
        raise UserError(f"max_tokens must be at least 0, not {request.max_tokens}")
    if len(request.source) and not 0 <= min(request.source) <= max(request.source) < model.source_padding:
        raise UserError(f"the source has an id outside 0 to {model.source_padding - 1}")
    for token in request.prefix:
        if token == model.end_id or not 0 <= token < model.output_size:
            raise UserError(
                f"the prefix forces the id {token}: a token is an id from 0 to {model.output_size - 1} other than "
                f"{model.end_id}, the end"
            )
    if any(request.constraints):
        request.constraints.checked(model.end_id, model.output_size)
    if request.constraints.include and settings.sampling is not None:
        raise UserError("phrases to include and sampling exclude each other: search, with any beam_size")
    if request.shortlist is not None:
        _check_shortlist(request, request.shortlist, model)


def _check_shortlist(request: Request, ids: Integers, model: Seq2Seq) -> None:
    if not len(ids) or (np.diff(ids) <= 0).any() or not 0 <= ids[0] <= ids[-1] < model.output_size:
        raise UserError(f"the ids of a shortlist must be ascending, from 0 to at most {model.output_size - 1}")
    phrases = sorted(request.constraints.tokens) if request.constraints.include else ()
    needed = np.array([model.end_id, *request.prefix, *phrases])
    missing = needed[ids[np.searchsorted(ids, needed).clip(max=len(ids) - 1)] != needed]
    if len(missing):
        raise UserError(f"the shortlist lacks the id {missing[0]}: it has to include the end, the prefix and phrases")
