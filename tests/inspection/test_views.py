"""Views as JSON and pictures."""

import json

import numpy as np
import pytest

from limelight.errors import UserError
from limelight.inspection.heatmap import Panel
from limelight.inspection.views import View, save_view

NUMBERS = np.array([[0.25, 0.5, 0.0], [1.0, 0.125, -0.5]])
VIEW = View("own", "a_b → c", [Panel("one", NUMBERS, ["x", "50 %"], ["▁a", "b,c", "</s>"])], {"more": [1, 2]})


def test_numbers_come_back_from_json():
    values = json.loads(VIEW.to_json())
    assert (values["format"], values["version"], values["more"]) == ("limelight.own", 1, [1, 2])
    assert values["panels"][0]["values"] == NUMBERS.tolist()


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_the_same_twice(tmp_path, ending):
    for name in ("a", "b"):
        save_view(VIEW, tmp_path / f"{name}.{ending}", theme="light")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    with pytest.raises(UserError, match="must be one of"):
        save_view(VIEW, tmp_path / "a.gif")
