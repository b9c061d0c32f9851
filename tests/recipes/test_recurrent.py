"""The recurrent recipes: three wirings of one size, told apart by nothing else."""

import pytest

from limelight.config import RunConfig
from limelight.recipes import find_recipe
from limelight.training.optimization.schedule import rate_of

RECIPES = {name: find_recipe(name) for name in ("seq2seq", "bahdanau", "luong")}


def test_each_has_the_wiring_of_its_paper() -> None:
    found = {name: (config.model.cell, config.model.wiring, config.model.score) for name, config in RECIPES.items()}
    assert found["seq2seq"][:2] == ("gru", "fixed")
    assert found["bahdanau"] == ("gru", "bahdanau", "additive")
    assert found["luong"] == ("lstm", "luong", "general")
    assert RECIPES["luong"].model.input_feeding
    assert RECIPES["bahdanau"].model.bidirectional


def test_they_are_trained_alike() -> None:
    """So that a comparison compares the mechanism."""
    one, *others = RECIPES.values()
    assert all((config.training, config.tokens) == (one.training, one.tokens) for config in others)
    assert {(config.model.embedding, config.model.hidden) for config in RECIPES.values()} == {(256, 512)}


@pytest.mark.parametrize("config", RECIPES.values())
def test_the_rate_rises_to_its_peak(config: RunConfig) -> None:
    assert rate_of(config, config.training.warmup) == pytest.approx(config.training.learning_rate)
