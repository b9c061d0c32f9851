"""The settings of a request: the model's own where nothing is asked for, and every bound."""

import math

import numpy as np
import pytest

from limelight.config import DecodingConfig
from limelight.decoding.request import SearchOptions, SearchSettings, length_penalty, search_settings
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError

OWN = DecodingConfig(
    beam_size=3,
    length_penalty=0.9,
    length_offset=2.0,
    patience=2.0,
    prune=7.0,
    max_length_factor=1.2,
    max_length_extra=31,
)
OF_SEARCH = OWN.model_dump(exclude={"guards", "coverage_penalty"})


def test_what_is_not_asked_for_is_the_models_own() -> None:
    own = search_settings(OWN, {})
    assert {name: getattr(own, name) for name in OF_SEARCH} == OF_SEARCH
    assert (own.n_best, own.sampling) == (1, None)
    nothing: SearchOptions = dict.fromkeys(SearchOptions.__annotations__)  # type: ignore[assignment]
    assert search_settings(OWN, nothing) == own


@pytest.mark.parametrize("name", sorted(OF_SEARCH))
def test_each_may_be_asked_for_alone(name: str) -> None:
    given = {name: getattr(DecodingConfig(), name)}
    assert given[name] != getattr(OWN, name)
    found = search_settings(OWN, given)  # type: ignore[arg-type]
    assert {**OF_SEARCH, **given} == {key: getattr(found, key) for key in OF_SEARCH}


def test_the_beam_holds_what_is_wanted_and_nothing_of_it_is_pruned() -> None:
    five = search_settings(OWN, {"n_best": 5})
    assert (five.beam_size, five.n_best, five.prune) == (5, 5, math.inf)
    assert search_settings(OWN, {"beam_size": 1}).prune == math.inf
    drawn = search_settings(OWN, {"sampling": Sampling(), "n_best": 2})
    assert (drawn.beam_size, drawn.n_best, drawn.prune) == (1, 2, math.inf)


def test_the_length_limit() -> None:
    assert search_settings(OWN, {}).max_length(10) == 43
    assert search_settings(OWN, {"max_length_factor": 0.5, "max_length_extra": 1}).max_length(7) == 4


def test_the_length_penalty_is_equation_14_and_without_its_offset_a_power() -> None:
    lengths, alphas = np.array([1.0, 7.0, 19.0, 31.0]), np.array([0.6, 1.0, 0.5, 2.0])
    assert length_penalty(lengths, alphas, np.full(4, 5.0)).tolist() == pytest.approx([1.0, 2.0, 2.0, 36.0])
    assert length_penalty(lengths, alphas, np.zeros(4)).tolist() == pytest.approx((lengths**alphas).tolist())
    assert length_penalty(0.0, 1.0, 0.0) == 1.0  # no token, and nothing is divided by zero


@pytest.mark.parametrize("n_best", [2.5, "2"])
def test_the_number_of_translations_is_whole(n_best: object) -> None:
    with pytest.raises(UserError, match="n_best must be a whole number, not"):
        search_settings(OWN, {"beam_size": 4, "n_best": n_best})


@pytest.mark.parametrize("wrong", [{"n_best": 2}, {"beam_size": 0}, {"beam_size": 3, "sampling": Sampling()}])
def test_settings_that_exclude_each_other_are_refused(wrong: dict) -> None:
    with pytest.raises(UserError, match=r"n_best must be from 1|exclude each other"):
        SearchSettings(**wrong)


def test_what_was_used_is_told_and_nothing_else() -> None:
    assert search_settings(OWN, {}).to_dict() == {**OF_SEARCH, "n_best": 1, "coverage_penalty": 0.0}
    assert "prune" not in search_settings(OWN, {"n_best": 2}).to_dict()
    greedy = search_settings(OWN, {"beam_size": 1}).to_dict()
    assert "prune" not in greedy
    assert greedy["length_penalty"] == 0.9


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"beam_size": 0}, "beam_size must be at least 1, not 0"),
        ({"beam_size": 1001}, "beam_size must be at most 1000, not 1001"),
        ({"beam_size": 2.5}, r"beam_size \(.*integer.*\), not 2.5"),
        ({"n_best": 4, "beam_size": 3}, r"n_best must be from 1 to beam_size \(3\), not 4"),
        ({"length_penalty": 1000.0}, "length_penalty must be at most 10, not 1000.0"),
        ({"length_penalty": math.nan}, r"length_penalty \(.*finite number\), not nan"),
        ({"patience": 0.0}, "patience must be above 0, not 0.0"),
        ({"patience": math.inf}, r"patience \(.*finite number\), not inf"),
        ({"prune": -1.0}, "prune must be above 0, not -1.0"),
        ({"prune": 2.0, "n_best": 2}, "prune=2 and n_best=2 exclude each other"),
        ({"max_length_factor": 101.0}, "max_length_factor must be at most 100, not 101.0"),
        ({"max_length_extra": 0}, "max_length_extra must be at least 1, not 0"),
        ({"prune": 2.0, "sampling": Sampling()}, "prune=2.0 and sampling exclude each other"),
        ({"patience": 2.0, "sampling": Sampling()}, "patience=2.0 and sampling exclude each other"),
    ],
)
def test_settings_out_of_bounds_are_refused(asked: SearchOptions, message: str) -> None:
    with pytest.raises(UserError, match=message):
        search_settings(OWN, asked)


def test_an_option_that_does_not_exist_is_told_as_python_does() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'beam'; search options are beam_size, n_best, "):
        search_settings(OWN, {"beam": 4})  # type: ignore[typeddict-unknown-key]
