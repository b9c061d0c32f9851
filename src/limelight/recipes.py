"""All recipes by name, imported lazily: the help of `limelight train` lists their names."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, cast

from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import RunConfig

GROUPS = {
    "Transformers": ("small", "quick", "tiny", "base", "big", "deep-6-1", "deep-6-2", "deep-8-1", "ssru-6-2", "demo"),
    "recurrent": ("seq2seq", "bahdanau", "luong"),
    "language models": ("gpt-tiny", "gpt-small", "lstm-tiny"),
    "masked models and classifiers": ("bert-tiny", "classifier"),
    "fine-tuning": ("finetune",),
}
"""The recipes of each kind."""


class _Recipes(Mapping[str, "Callable[[], RunConfig]"]):
    """The functions of all recipes by name; each is imported on access."""

    def __getitem__(self, name: str) -> "Callable[[], RunConfig]":
        if name not in tuple(self):
            raise KeyError(name)
        module = import_module("limelight.config.recipes")
        return cast("Callable[[], RunConfig]", getattr(module, name.replace("-", "_")))

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(GROUPS.values())

    def __len__(self) -> int:
        return sum(map(len, GROUPS.values()))


RECIPES = _Recipes()


def describe_recipes() -> str:
    """The names of all recipes by kind, for help texts."""
    return "; ".join(f"{', '.join(names)}: {kind}" for kind, names in GROUPS.items())


def find_recipe(name: str) -> "RunConfig":
    """The configuration of a recipe. Raises `UserError` that lists all names if there is none."""
    if name not in RECIPES:
        near = difflib.get_close_matches(name, RECIPES, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UserError(f"unknown recipe {name!r}; {hint}choose from {', '.join(RECIPES)}")
    return RECIPES[name]()
