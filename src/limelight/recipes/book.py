"""All recipes by name."""

import difflib
from collections.abc import Callable

from limelight.config import RunConfig
from limelight.errors import UserError
from limelight.recipes.encoder import bert_tiny, classifier
from limelight.recipes.language import gpt_small, gpt_tiny, lstm_tiny
from limelight.recipes.recurrent import bahdanau, luong, seq2seq
from limelight.recipes.transformer import base, big, demo, quick, small, tiny

RECIPES: dict[str, Callable[[], RunConfig]] = {
    recipe.__name__.replace("_", "-"): recipe
    for recipe in (
        small,
        quick,
        tiny,
        base,
        big,
        demo,
        seq2seq,
        bahdanau,
        luong,
        gpt_tiny,
        gpt_small,
        lstm_tiny,
        bert_tiny,
        classifier,
    )
}


def find_recipe(name: str) -> RunConfig:
    """The configuration of that recipe. Raises `UserError` naming those there are."""
    if name not in RECIPES:
        near = difflib.get_close_matches(name, RECIPES, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UserError(f"unknown recipe {name!r}: {hint}there are {', '.join(RECIPES)}")
    return RECIPES[name]()
