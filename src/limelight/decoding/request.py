"""A request to the engine, its search settings, and its result.

Settings are validated once; those that a caller leaves out take the values of the model's configuration.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypedDict, TypeVar

import numpy as np
from pydantic import ValidationError

from limelight.config import DecodingConfig
from limelight.decoding.constraints import Phrase, check_phrases
from limelight.decoding.host import Integers, Numbers
from limelight.decoding.rules import RULES
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq

NumberT = TypeVar("NumberT", float, Numbers)


def length_penalty(length: NumberT, alpha: NumberT, offset: NumberT) -> NumberT:
    """lp(Y) = ((k + |Y|) / (k + 1))^alpha, with k = 5 (Wu et al. 2016, equation 14, without its coverage term).

    A sum of log-probabilities falls with every token; divided by lp, hypotheses of different lengths are comparable.
    |Y| counts tokens, the end included. alpha = 0 gives 1: no normalization. With k = 0 it is |Y|^alpha, which
    fairseq, Marian, CTranslate2 and transformers call the length penalty; alpha = 1 then ranks by the mean. A length of
    0 counts as 1 there, where the formula would give 0.
    """
    tokens = np.maximum(length, np.equal(offset, 0))
    result: NumberT = ((offset + tokens) / (offset + 1)) ** alpha
    return result


class SearchOptions(TypedDict, total=False):
    """Search options, passed as keyword arguments. An option that is omitted or None takes the model's value
    (`decoding` in its `config.yaml`).

    beam_size: number of active hypotheses, 1 to 1000; 1 is greedy search.
    n_best: number of translations of each text, 1 to `beam_size`; default 1.
    length_penalty: alpha of Wu et al. 2016, equation 14, 0 to 10; 0 does not normalize.
    length_offset: k of `((k + length) / (k + 1))^alpha`, 0 to 100: 5 is theirs, 0 makes it `length^alpha`.
    coverage_penalty: beta of that equation, 0 to 10: all hypotheses of the beam are compared by it. See
        `inspection/coverage.py`.
    patience: the search of a sentence ends once `patience * beam_size` hypotheses are finished; above 0. See
        `search.py`.
    prune: maximum difference of a hypothesis to the best, in log-probability; above 0. See `search.py`.
    max_length_factor, max_length_extra: a translation has at most `factor * source tokens + extra` tokens.
    sampling: draw `n_best` translations independently instead of searching for the best.
    no_repeat_ngram: no n-gram of so many tokens occurs twice; at least 1. This option and the next one are in
        `rules.py`.
    repetition_penalty: the log-probability of tokens that occurred before is multiplied by it; at least 1.
    """

    beam_size: int | None
    n_best: int | None
    length_penalty: float | None
    length_offset: float | None
    coverage_penalty: float | None
    patience: float | None
    prune: float | None
    max_length_factor: float | None
    max_length_extra: int | None
    sampling: Sampling | None
    no_repeat_ngram: int | None
    repetition_penalty: float | None


BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
}
"""pydantic's error type -> its key for the bound, and the words of our message."""

OF_THE_BEAM = ("beam_size", "coverage_penalty", "patience", "prune")
"""Options that do not apply to sampling."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """The complete settings of a request. The defaults here are greedy search, scored by the sum of log-probabilities;
    `search_settings` takes the model's defaults and checks the bounds of numbers.

    Raises `UserError` for settings that exclude each other.
    """

    beam_size: int = 1
    n_best: int = 1
    """Number of results; with sampling, the number of samples."""
    length_penalty: float = 0.0
    length_offset: float = 5.0
    coverage_penalty: float = 0.0
    patience: float = math.inf
    prune: float = math.inf
    """`math.inf` if pruning does not apply: for several translations, a single hypothesis, samples, or a length penalty
    above 1, with which a hypothesis far behind may still win by being longer."""
    max_length_factor: float = 1.5
    max_length_extra: int = 20
    sampling: Sampling | None = None
    rules: tuple[tuple[str, Any], ...] = ()
    """Names of `RULES` with their values."""

    def __post_init__(self) -> None:
        beam, n_best = self.beam_size, self.n_best
        if self.sampling is None and not 1 <= n_best <= beam:
            raise UserError(f"n_best must be from 1 to beam_size ({beam}), not {n_best}: use fewer, or a larger beam")
        if not 1 <= n_best <= 1000:
            raise UserError(f"n_best must be from 1 to 1000, not {n_best}")
        if self.sampling is not None and beam != 1:
            raise UserError(f"beam_size={beam} and sampling exclude each other: either search or sample")
        for name, value in self.rules:
            RULES[name](value)

    @property
    def kept(self) -> int:
        """Number of finished hypotheses that the search keeps."""
        return self.beam_size if self.coverage_penalty else self.n_best

    def max_length(self, source_tokens: int) -> int:
        """Maximum number of tokens of a translation of `source_tokens`, ends not counted: factor and extra, rounded
        down. Vaswani et al. 2017, 6.1, use a factor of 1 and 50 extra."""
        return int(self.max_length_factor * source_tokens + self.max_length_extra)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values for JSON, without those that do not apply."""
        values = {name: value for name, value in asdict(self).items() if value not in (None, math.inf)}
        return values | dict(values.pop("rules"))


def search_settings(config: DecodingConfig, options: SearchOptions) -> SearchSettings:
    """The settings of a request. Raises `UserError` that names the option, its value and the bound.

    If `n_best` is above the model's `beam_size` and `beam_size` is not given, the beam is as wide as `n_best`.
    Raises `TypeError` for an option that does not exist, as Python does for a keyword.
    """
    names = list(dict.fromkeys([*SearchOptions.__annotations__, *RULES]))
    if unknown := sorted(set(options) - set(names)):
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; search options are {', '.join(names)}")
    named: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    sampling, n_best = named.pop("sampling", None), named.pop("n_best", 1)
    if isinstance(sampling, dict):  # from another process
        sampling = Sampling(**sampling)
    if not isinstance(sampling, Sampling | None):
        raise UserError(f"sampling must be a Sampling(...), not {sampling!r}")
    if not isinstance(n_best, int):
        raise UserError(f"n_best must be a whole number, not {n_best!r}")
    rules = tuple((name, named.pop(name)) for name in RULES if name in named)
    filled = _filled_in(config, named)
    if n_best > 1 and "prune" in named and sampling is None:
        raise UserError(
            f"prune={named['prune']:g} and n_best={n_best} exclude each other: pruning keeps only what can become "
            "the best translation; leave prune out"
        )
    for name in named if sampling is not None else ():
        if name in OF_THE_BEAM and (name, named[name]) != ("beam_size", 1):
            raise UserError(f"{name}={named[name]} and sampling exclude each other: either search or sample")
    width = 1 if sampling else filled.beam_size if "beam_size" in named else max(filled.beam_size, n_best)
    coverage = filled.coverage_penalty if width > 1 else 0.0
    return SearchSettings(
        **filled.model_dump(exclude={"beam_size", "prune", "guards", "coverage_penalty"}),
        coverage_penalty=coverage,
        beam_size=width,
        n_best=n_best,
        prune=filled.prune if n_best == 1 < width and not coverage and filled.length_penalty <= 1 else math.inf,
        sampling=sampling,
        rules=rules,
    )


def _filled_in(config: DecodingConfig, named: dict[str, Any]) -> DecodingConfig:
    """The configuration with the given options, validated by its bounds."""
    try:
        return DecodingConfig.model_validate({**config.model_dump(), **named})
    except ValidationError as error:
        fault = error.errors()[0]
        key, words = BOUNDS.get(fault["type"], ("", ""))
        wanted = f"must be {words} {fault['ctx'][key]:g}" if key else f"({fault['msg'].lower()})"
        raise UserError(f"{fault['loc'][0]} {wanted}, not {fault['input']!r}") from None


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
    """Target ids that are scored, ascending, including the end and all ids of prefix and phrases; None scores all."""
    substream: tuple[int, ...] = ()
    """Selects the random stream for the sampling seed: requests with the same seed have different ones."""
    phrases: tuple[Phrase, ...] = ()
    """Phrases that the output has to contain."""

    @property
    def limit(self) -> int:
        """Maximum tokens of a hypothesis, including forced ones."""
        longest = sum(max(map(len, phrase.forms)) for phrase in self.phrases)
        return max(self.max_tokens, len(self.prefix) + longest)

    @property
    def width(self) -> int:
        """Number of active hypotheses."""
        settings = self.settings
        return settings.beam_size if settings.sampling is None else settings.n_best

    @property
    def is_plain(self) -> bool:
        """Whether it is a search without forced tokens, phrases, lists, samples and rules, as compiled code does it."""
        special = self.settings.sampling or self.settings.rules or self.phrases or self.prefix
        return not special and self.first is None and self.shortlist is None


def check_request(request: Request, model: Seq2Seq) -> None:
    """Raise `UserError` for ids that the model does not have, and for samples with phrases to include."""
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
    check_phrases(request.phrases, model.output_size)
    if request.phrases and request.settings.sampling is not None:
        raise UserError("phrases to include and sampling exclude each other: search, with any beam_size")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A candidate output: tokens and their log-probabilities.

    Attributes:
        ids: target tokens without start and end; a forced prefix is part of them.
        score: by which hypotheses are ranked: `log_probability / length_penalty(tokens)` of what follows the forced
            tokens, the end, if any, counted as a token; for samples `log_probability`.
        log_probability: sum over all tokens, natural logarithm; forced tokens count, and so does the end if `finished`.
        finished: whether the end was reached within the length limit.
        log_probabilities: of each token, and of the end if `finished`.
    """

    ids: tuple[int, ...]
    score: float
    log_probability: float
    finished: bool
    log_probabilities: tuple[float, ...] = field(default=(), compare=False)
