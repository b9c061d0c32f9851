"""Every recipe is a whole run that can be stored, loaded and built."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from limelight.config import dump_config, load_config, override, recipes
from limelight.errors import UserError
from limelight.models.families import count_parameters
from limelight.recipes import RECIPES, describe_recipes, find_recipe
from limelight.untrusted import read_yaml
from tests.recipes.helpers import outline


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_found_by_its_name_and_bears_it(name: str) -> None:
    assert find_recipe(name).recipe == name
    assert find_recipe(name) == find_recipe(name)


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_goes_through_a_file(name: str, tmp_path: Path) -> None:
    """`model_copy` checks nothing: whatever a recipe sets must pass the schema."""
    (tmp_path / "config.yaml").write_text(dump_config(find_recipe(name)), encoding="utf-8")
    assert load_config(tmp_path / "config.yaml") == find_recipe(name)
    assert override(find_recipe(name), ["training.seed=7"]).training.seed == 7


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_builds_a_model(name: str) -> None:
    model = outline(find_recipe(name), pieces=1000)
    assert model.output_weights()[0].shape[0] == 1000
    assert count_parameters(model) > 100_000


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_documented_with_where_it_comes_from(name: str) -> None:
    said = str(recipes._recipes()[name]["about"])
    assert any(mark in said for mark in (" 20", "no paper")), f"{name} names neither a paper nor that there is none"


def test_an_unknown_recipe_names_the_near_one_and_all() -> None:
    with pytest.raises(UserError, match=r"unknown recipe 'bahdnau'; did you mean bahdanau\? choose from small, "):
        find_recipe("bahdnau")
    with pytest.raises(UserError, match="unknown recipe 'xyzzy'; choose from "):
        find_recipe("xyzzy")


def test_every_recipe_of_the_package_is_listed() -> None:
    public = {*read_yaml(recipes.FILE.read_text(encoding="utf-8"))}
    assert public == set(RECIPES)
    assert set(re.findall(r"[\w-]+(?=[,:])", describe_recipes())) >= public


def test_listing_recipes_imports_none_of_them() -> None:
    code = "import sys; from limelight import recipes; list(recipes.RECIPES); sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
