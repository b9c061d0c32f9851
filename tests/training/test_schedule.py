"""Learning rates against their formulas."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.config import RunConfig, TrainingConfig, TransformerConfig
from limelight.training.optimization.schedule import rate_of

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


def test_the_cosine() -> None:
    for step in (5000, 20_000, 52_000, 99_999, 100_000):
        done = (step - 4000) / 96_000
        expected = 0.007 + 0.693 * (1 + math.cos(math.pi * done)) / 2
        assert rate(step, "cosine") == pytest.approx(expected)
    assert rate(100_000, "cosine") == pytest.approx(0.007)
    assert rate(10**7, "cosine") == pytest.approx(0.007)


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
