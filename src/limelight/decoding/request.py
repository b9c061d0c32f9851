"""What is asked of an engine: one source, and how it is to be searched."""

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
"""Any text."""


@dataclass(frozen=True, slots=True)
class Request:
    """One source with settings of its own. Its answer is a function of the model and of this, not of other requests."""

    source: Sequence[int]
    """Source ids, with the end; a prompt has none and may be empty."""
    max_tokens: int
    """Most tokens of a hypothesis, the end not counted. What goes on there is cut, and unfinished."""
    settings: SearchSettings = field(default_factory=SearchSettings)
    prefix: tuple[int, ...] = ()
    """Tokens every hypothesis begins with. With phrases it raises `max_tokens`: what is forced is never cut."""
    first: int | None = None
    """The token the decoder reads first, which is none of the hypothesis: the model's start id when not given."""
    shortlist: Integers | None = field(default=None, compare=False)
    """Target ids that are scored, rising, the end among them; None scores all."""
    substream: tuple[int, ...] = ()
    """Which random numbers of the sampling's seed are its own: requests that share a seed have different ones."""
    constraints: Constraints = FREE
    """Phrases that a hypothesis has to contain, and those that it must not. The forced beginning may contain any."""

    @property
    def limit(self) -> int:
        """The most tokens of a hypothesis, the forced ones included."""
        needed = self.constraints.length if self.constraints.include else 0
        return max(self.max_tokens, len(self.prefix) + needed)

    @property
    def width(self) -> int:
        """Hypotheses side by side."""
        settings = self.settings
        return settings.beam_size if settings.sampling is None else settings.n_best


def check_request(request: Request, model: Seq2Seq) -> None:
    """Raises `UserError` for settings no search can follow, and for ids that the model does not have."""
    settings = request.settings
    if settings.sampling is None:
        check_beam(settings.beam_size, settings.n_best, settings.length_penalty)
    elif settings.beam_size != 1 or settings.n_best < 1:
        raise UserError(
            f"beam_size={settings.beam_size}, n_best={settings.n_best}: sampling has a beam_size of 1, and n_best draws"
        )
    for name, value in settings.rules:
        if name not in RULES:
            raise UserError(f"there is no rule {name!r}; there are {', '.join(RULES)}")
        RULES[name](value)
    if request.max_tokens < 0:
        raise UserError(f"max_tokens must be at least 0, not {request.max_tokens}")
    if len(request.source) and not 0 <= min(request.source) <= max(request.source) < model.source_padding:
        raise UserError(f"the source has an id outside of 0 to {model.source_padding - 1}")
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
        raise UserError(f"the ids of a shortlist rise, from 0 to {model.output_size - 1} at most")
    phrases = sorted(request.constraints.tokens) if request.constraints.include else ()
    needed = np.array([model.end_id, *request.prefix, *phrases])
    missing = needed[ids[np.searchsorted(ids, needed).clip(max=len(ids) - 1)] != needed]
    if len(missing):
        raise UserError(f"the shortlist lacks the id {missing[0]}: the end, the prefix and phrases have to be on it")
