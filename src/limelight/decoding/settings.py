"""How one request is searched: every setting, checked once, with the model's own values where nothing is asked for."""

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypedDict, cast

import numpy as np
from pydantic import ValidationError

from limelight.config import MAX_LENGTH_PENALTY, DecodingConfig
from limelight.decoding.host import Numbers
from limelight.decoding.rules import RULES
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError


class LengthPenalty(NamedTuple):
    """lp(Y) = ((k + |Y|) / (k + 1))^alpha, with k = 5 (Wu et al. 2016, equation 14, without its coverage term).

    A sum of log-probabilities falls with every token; divided by this, long hypotheses can stand beside short ones.
    |Y| counts tokens, the end included. alpha = 0 gives 1: nothing is normalized. With k = 0 it is |Y|^alpha, which
    fairseq, Marian, CTranslate2 and transformers call the length penalty; alpha = 1 then ranks by the mean.
    """

    alpha: float
    offset: float = 5.0
    """k"""

    def at(self, length: float) -> float:
        """Of a hypothesis of so many tokens; of none at all as of one, where the formula would give 0."""
        tokens = length if self.offset else max(length, 1.0)
        result: float = ((self.offset + tokens) / (self.offset + 1)) ** self.alpha
        return result


def penalties_at(lengths: Numbers, alphas: Numbers, offsets: Numbers) -> Numbers:
    """`LengthPenalty(alpha, offset).at(length)` for each of many."""
    result: Numbers = ((offsets + np.maximum(lengths, offsets == 0)) / (offsets + 1)) ** alphas
    return result


def max_target_length(source_tokens: int, factor: float, extra: int) -> int:
    """The most tokens a translation may have, its end not counted: `factor * source_tokens + extra`, rounded down.

    `source_tokens` is without the end, too. The paper takes a factor of 1 and 50 extra (Vaswani et al. 2017, 6.1).
    """
    return int(factor * source_tokens + extra)


class SearchOptions(TypedDict, total=False):
    """What a caller may ask of a search, as keywords. An option that is left out or None is the model's own
    (`decoding` in its `config.yaml`).

    beam_size: hypotheses side by side, 1 to 1000; 1 is greedy search.
    n_best: how many translations of each text, 1 to `beam_size`; 1 when not given.
    length_penalty: alpha of Wu et al. 2016, equation 14, 0 to 10; 0 does not normalize.
    length_offset: k of `((k + length) / (k + 1))^alpha`, 0 to 100: 5 is theirs, 0 makes it `length^alpha`.
    patience: a sentence ends once `patience * beam_size` hypotheses ended; above 0. See `BeamSearch`.
    prune: how far below the best a hypothesis may fall, in log-probability; above 0. See `BeamSearch`.
    max_length_factor, max_length_extra: a translation has at most `factor * source tokens + extra` tokens.
    sampling: draw `n_best` translations independently instead of searching for the best.
    no_repeat_ngram: no run of so many tokens comes twice; 1 or more. This and others of its kind are in `rules.py`.
    """

    beam_size: int | None
    n_best: int | None
    length_penalty: float | None
    length_offset: float | None
    patience: float | None
    prune: float | None
    max_length_factor: float | None
    max_length_extra: int | None
    sampling: Sampling | None
    no_repeat_ngram: int | None


BOUNDS = {
    "greater_than": ("gt", "above"),
    "greater_than_equal": ("ge", "at least"),
    "less_than_equal": ("le", "at most"),
}
"""How pydantic names a bound, and how we do."""

OF_THE_BEAM = ("beam_size", "patience", "prune")
"""Options that sampling has no use for."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """One request's settings, all filled in. Those it is made with by itself are greedy search, scored by the bare
    sum of log-probabilities; `search_settings` takes the model's own."""

    beam_size: int = 1
    n_best: int = 1
    """With sampling, how many are drawn."""
    length_penalty: float = 0.0
    length_offset: float = 5.0
    patience: float = math.inf
    prune: float = math.inf
    """`math.inf` where nothing can be pruned: of more than one translation, of a single hypothesis, of samples."""
    max_length_factor: float = 1.5
    max_length_extra: int = 20
    sampling: Sampling | None = None
    rules: tuple[tuple[str, Any], ...] = ()
    """What may not come next, as names of `RULES` with their values."""

    @property
    def penalty(self) -> LengthPenalty:
        """What log-probabilities are divided by."""
        return LengthPenalty(self.length_penalty, self.length_offset)

    def max_length(self, source_tokens: int) -> int:
        """The most tokens a translation of so many may have, ends not counted."""
        return max_target_length(source_tokens, self.max_length_factor, self.max_length_extra)

    def to_dict(self) -> dict[str, Any]:
        """What the search used, as plain values for JSON."""
        values = asdict(self)
        for name in ("patience", "prune") if self.beam_size == 1 else ("prune",) if self.prune == math.inf else ():
            del values[name]
        if self.sampling is None:
            del values["sampling"]
        return values | dict(values.pop("rules"))


def check_beam(beam_size: int, n_best: int, alpha: float) -> None:
    """Raises `UserError` for settings no beam search can follow."""
    if beam_size < 1:
        raise UserError(f"beam_size must be at least 1 (greedy search), not {beam_size}")
    if not 1 <= n_best <= beam_size:
        raise UserError(f"n_best must be from 1 to beam_size ({beam_size}), not {n_best}: use fewer, or a larger beam")
    if not 0 <= alpha <= MAX_LENGTH_PENALTY:
        raise UserError(f"length_penalty must be from 0 (none) to {MAX_LENGTH_PENALTY:g}, not {alpha}")


def search_settings(config: DecodingConfig, options: SearchOptions) -> SearchSettings:
    """The settings of a request. Raises `UserError` that names the option, its value and the bound.

    With an `n_best` above the model's `beam_size` and no `beam_size` asked for, the beam is made wide enough.
    Raises `TypeError` for an option that does not exist, as Python does for a keyword.
    """
    names = list(dict.fromkeys([*SearchOptions.__annotations__, *RULES]))
    unknown = sorted(set(options) - set(names))
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; search options are {', '.join(names)}")
    rules = tuple((name, value) for name, value in options.items() if name in RULES and value is not None)
    for name, value in rules:
        RULES[name](value)
    sampling = options.get("sampling")
    n_best = 1 if options.get("n_best") is None else cast(int, options["n_best"])
    elsewhere = {"n_best", "sampling", *RULES}
    given = {name: value for name, value in options.items() if value is not None and name not in elsewhere}
    settings = _filled_in(config, given)
    if sampling is None:
        width = settings.beam_size if "beam_size" in given else max(settings.beam_size, n_best)
        check_beam(width, n_best, settings.length_penalty)
        if n_best > 1 and "prune" in given:
            raise UserError(
                f"prune={given['prune']:g} and n_best={n_best} exclude each other: pruning keeps only what can become "
                "the best translation; leave prune out"
            )
    else:
        _check_sampling(given, n_best)
        width = 1
    return SearchSettings(
        beam_size=width,
        n_best=n_best,
        length_penalty=settings.length_penalty,
        length_offset=settings.length_offset,
        patience=settings.patience,
        prune=settings.prune if n_best == 1 < width else math.inf,
        max_length_factor=settings.max_length_factor,
        max_length_extra=settings.max_length_extra,
        sampling=sampling,
        rules=rules,
    )


def _filled_in(config: DecodingConfig, given: dict[str, object]) -> DecodingConfig:
    """The configuration with what is given, within the bounds of the configuration."""
    try:
        return DecodingConfig.model_validate({**config.model_dump(), **given})
    except ValidationError as error:
        fault = error.errors()[0]
        bound = fault.get("ctx", {}).get(BOUNDS.get(fault["type"], ("", ""))[0])
        wanted = f"must be {BOUNDS[fault['type']][1]} {bound:g}" if bound is not None else f"({fault['msg'].lower()})"
        raise UserError(f"{fault['loc'][0]} {wanted}, not {fault['input']!r}") from None


def _check_sampling(given: dict[str, object], n_best: int) -> None:
    for name in OF_THE_BEAM:
        if name in given and (name, given[name]) != ("beam_size", 1):
            raise UserError(f"{name}={given[name]} and sampling exclude each other: either search or sample")
    if n_best < 1:
        raise UserError(f"n_best must be at least 1, not {n_best}")
