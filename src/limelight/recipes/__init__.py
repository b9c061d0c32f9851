"""Recipes: functions that return a whole run configuration, each naming its paper and table."""

from limelight.recipes.registry import RECIPES, describe_recipes, find_recipe

__all__ = ["RECIPES", "describe_recipes", "find_recipe"]
