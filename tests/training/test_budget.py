"""Rates, validations and words that fit a budget."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.config import RunConfig, TrainingConfig, TransformerConfig
from limelight.recipes import find_recipe
from limelight.training.optimization.schedule import (
    UpdateTimer,
    patience_of,
    rate_of,
    share_risen,
    validation_interval,
)


def fitted(schedule: str = "inverse_sqrt", warmup: int = 4000, **bounds: float) -> RunConfig:
    training = TrainingConfig(schedule=schedule, learning_rate=0.5, warmup=warmup, fit_to_budget=True, **bounds)
    return RunConfig(model=TransformerConfig(d_model=64, heads=8), training=training)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "cosine", "constant", "paper"])
def test_updates_bound_warm_up_and_decay(schedule: str) -> None:
    config = fitted(schedule, max_steps=1000)
    rates = [rate_of(config, step) for step in range(1, 1001)]
    peak = 0.5 / math.sqrt(64 * 4000) if schedule == "paper" else 0.5
    assert rates[99] == max(rates) == pytest.approx(peak)
    assert rates[:100] == pytest.approx([peak * step / 100 for step in range(1, 101)])
    assert rates[549] == pytest.approx(peak * 0.505)  # half of the way that is left
    assert rates[-1] == pytest.approx(peak / 100)
    assert rates[99:] == sorted(rates[99:], reverse=True)


def test_minutes_bound_warm_up_and_decay() -> None:
    """An update a second: a tenth of ten minutes is the warm-up."""
    config = fitted(max_minutes=10)
    rates = [rate_of(config, step, step - 1.0) for step in range(1, 601)]
    assert max(range(600), key=rates.__getitem__) == pytest.approx(60, abs=1)
    assert max(rates) > 0.48
    assert rates[299] == pytest.approx(0.2525, rel=0.01)
    assert rates[-1] < 0.006
    assert rate_of(config, 9000, 30.0) == pytest.approx(
        0.5, rel=0.01
    )  # a machine that is faster than that: 4,000 updates


@given(
    st.integers(1, 10**6), st.floats(0, 1e6), st.integers(0, 10**5), st.none() | st.integers(1, 10**6),
    st.none() | st.floats(1e-3, 1e6),
)  # fmt: skip
def test_the_rise_is_a_share_that_never_falls(
    step: int, seconds: float, warmup: int, max_steps: int | None, max_minutes: float | None
) -> None:
    training = TrainingConfig(warmup=warmup, max_steps=max_steps, max_minutes=max_minutes, fit_to_budget=True)
    moments = ((step, seconds), (step + 1, seconds), (step + 1, seconds + 1))
    shares = [share_risen(training, *moment) for moment in moments]
    assert 0 < shares[0] <= shares[1] <= shares[2] <= 1


@pytest.mark.parametrize(
    ("pairs", "interval", "epochs"),
    [
        (2_000, 100, 43),  # 312 epochs of patience when it was counted in updates
        (29_000, 255, 30),
        (5_000_000, 43966, 30),  # a sixth of an epoch when it was counted in updates
    ],
)
def test_validations_and_patience_count_epochs(pairs: int, interval: int, epochs: float) -> None:
    training, epoch = find_recipe("small").training, 170 * pairs / 29_000
    assert validation_interval(training, epoch) == interval
    assert patience_of(training, epoch) * interval / epoch == pytest.approx(epochs, rel=0.06)


def test_the_pace_is_not_moved_by_slow_updates() -> None:
    pace = UpdateTimer()
    assert pace.seconds() == 0
    for seconds in (40.0, 9.0, 1.0, 1.1, 0.9, 30.0, 1.0):
        pace.add(seconds)
    assert pace.seconds() == 1.0
