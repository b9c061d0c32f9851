"""Recipes: functions that return a whole run configuration, each naming its paper and table."""

from limelight.recipes.book import RECIPES, find_recipe

__all__ = ["RECIPES", "find_recipe"]
