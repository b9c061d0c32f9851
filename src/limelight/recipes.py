"""The names of all recipes, for help texts; `limelight.config.recipes` reads them."""

import difflib
from itertools import chain
from typing import TYPE_CHECKING

from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import RunConfig

GROUPS = {
    "Transformers": ("small", "quick", "tiny", "base", "big", "deep-6-1", "deep-6-2", "deep-8-1", "ssru-6-2", "demo"),
    "recurrent": ("seq2seq", "bahdanau", "luong"),
    "language models": ("gpt-tiny", "gpt-small"),
    "masked models and classifiers": ("bert-tiny", "classifier"),
    "fine-tuning": ("finetune",),
}
"""The recipes of each kind."""
RECIPES = tuple(chain.from_iterable(GROUPS.values()))


def describe_recipes() -> str:
    """The names of all recipes by kind, for help texts."""
    return "; ".join(f"{', '.join(names)}: {kind}" for kind, names in GROUPS.items())


def find_recipe(name: str) -> "RunConfig":
    """The configuration of a recipe. Raises `UserError` that lists all names if there is none."""
    if name not in RECIPES:
        near = difflib.get_close_matches(name, RECIPES, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UserError(f"unknown recipe {name!r}; {hint}choose from {', '.join(RECIPES)}")
    from limelight.config.recipes import recipe

    return recipe(name)
