"""Learning rates against their formulas."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.config import RunConfig, TrainingConfig, TransformerConfig
from limelight.recipes import find_recipe
from limelight.training.optimization.schedule import patience_of, rate_of, share_risen, validation_interval

SCHEDULES = ("paper", "inverse_sqrt", "cosine", "constant", "wsd")
steps, warmups = st.integers(1, 300_000), st.integers(0, 20_000)


def rate(step: int, schedule: str, warmup: int = 4000, peak: float = 0.7, decay_steps: int = 100_000) -> float:
    training = TrainingConfig(schedule=schedule, learning_rate=peak, warmup=warmup, decay_steps=decay_steps)
    return rate_of(RunConfig(model=TransformerConfig(d_model=512), training=training), step)


@given(steps, st.integers(1, 20_000))
def test_the_papers_equation_3(step: int, warmup: int) -> None:
    expected = 512**-0.5 * min(step**-0.5, step * warmup**-1.5)
    assert rate(step, "paper", warmup, peak=1.0) == pytest.approx(expected)
    assert rate(step, "paper", warmup, peak=2.0) == pytest.approx(2 * expected)


@given(steps, st.integers(1, 20_000))
def test_the_inverse_square_root_is_the_papers_curve_by_its_top(step: int, warmup: int) -> None:
    top = 512**-0.5 * warmup**-0.5
    assert rate(step, "inverse_sqrt", warmup, peak=top) == pytest.approx(rate(step, "paper", warmup, peak=1.0))
    assert rate(warmup, "inverse_sqrt", warmup) == pytest.approx(0.7)


def test_warm_up_stable_decay() -> None:
    """From 4,000 to 100,000: the last fifth begins at 80,800."""
    assert [rate(step, "wsd") for step in (4000, 50_000, 80_800)] == pytest.approx([0.7] * 3)
    for step in (80_801, 85_600, 95_000, 100_000):
        expected = 0.007 + 0.693 * (1 - math.sqrt((step - 80_800) / 19_200))
        assert rate(step, "wsd") == pytest.approx(expected)
    assert rate(10**7, "wsd") == pytest.approx(0.007)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_rise_is_a_straight_line_that_meets_what_follows(schedule: str) -> None:
    for step in (1, 7, 1999, 4000):
        assert rate(step, schedule) == pytest.approx(rate(4000, schedule) * step / 4000)
    assert rate(4001, schedule) == pytest.approx(rate(4000, schedule), rel=1e-3)
    assert max(rate(step, schedule) for step in range(1, 9000, 7)) <= rate(4000, schedule)


@pytest.mark.parametrize(
    ("settings", "step", "seconds", "done"),
    [
        ({"max_steps": 1100}, 600, 0.0, 0.5),  # the warm-up of 100 is no part of the way
        ({"max_steps": 1100}, 50, 0.0, 0.0),
        ({"max_minutes": 10}, 7, 150.0, 0.25),
        ({"max_minutes": 10}, 7, 700.0, 1.0),
        ({"max_steps": 1100, "max_minutes": 10}, 600, 150.0, 0.5),  # the nearer bound
        ({"max_steps": 1100, "max_minutes": 10}, 600, 450.0, 0.75),
        ({"max_steps": 1100, "max_minutes": 10, "decay_steps": 2100}, 1100, 450.0, 0.5),  # what was asked for
        ({}, 10**6, 10.0**6, 0.0),  # without an end there is none to fall to
    ],
)
def test_the_cosine_ends_where_the_run_does(settings: dict, step: int, seconds: float, done: float) -> None:
    config = RunConfig(training=TrainingConfig(schedule="cosine", learning_rate=1.0, warmup=100, **settings))
    expected = min(1.0, step / 100) * (0.01 + 0.99 * (1 + math.cos(math.pi * done)) / 2)
    assert rate_of(config, step, seconds) == pytest.approx(expected)


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
