"""The recurrent recipes: three wirings of one size, told apart by nothing else."""

import pytest

from limelight.config.recipes import bahdanau, luong, seq2seq
from limelight.training.optimization.schedule import rate_of

RECIPES = (seq2seq, bahdanau, luong)


def test_each_has_the_wiring_of_its_paper() -> None:
    found = {recipe.__name__: (recipe().model.cell, recipe().model.wiring, recipe().model.score) for recipe in RECIPES}
    assert found["seq2seq"][:2] == ("gru", "fixed")
    assert found["bahdanau"] == ("gru", "bahdanau", "additive")
    assert found["luong"] == ("lstm", "luong", "general")
    assert luong().model.input_feeding
    assert bahdanau().model.bidirectional


def test_they_are_trained_alike() -> None:
    """So that a comparison compares the mechanism."""
    assert seq2seq().training == bahdanau().training == luong().training
    assert seq2seq().tokens == bahdanau().tokens == luong().tokens
    assert {(recipe().model.embedding, recipe().model.hidden) for recipe in RECIPES} == {(256, 512)}


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_rate_rises_to_its_peak(recipe) -> None:
    config = recipe()
    assert rate_of(config, config.training.warmup) == pytest.approx(config.training.learning_rate)
