"""Views as CSV, JSON, TikZ and pictures."""

import csv
import io
import json
import re

import numpy as np
import pytest

from limelight.errors import UserError
from limelight.inspection.views import Panel, View, curves_tikz, save_view

NUMBERS = np.array([[0.25, 0.5, 0.0], [1.0, 0.125, -0.5]])
VIEW = View("own", "a_b → c", [Panel("one", NUMBERS, ["x", "50 %"], ["▁a", "b,c", "</s>"])], {"more": [1, 2]})


def test_numbers_come_back_from_csv_and_json():
    rows = list(csv.DictReader(io.StringIO(VIEW.to_csv())))
    assert [float(row["value"]) for row in rows] == NUMBERS.flatten().tolist()
    assert [rows[4][key] for key in ("panel", "row", "column", "row_label", "column_label")] == [
        "one", "1", "1", "50 %", "b,c",
    ]  # fmt: skip
    values = json.loads(VIEW.to_json())
    assert (values["format"], values["version"], values["more"]) == ("limelight.own", 1, [1, 2])
    assert values["panels"][0]["values"] == NUMBERS.tolist()


def test_tikz_has_every_number_and_no_bare_special_character():
    text = View("own", VIEW.title, [VIEW.panels[0], VIEW.panels[0]]).to_tikz()
    assert text.count(r"\begin{axis}") == text.count(r"\end{axis}") == 2
    assert text.count("{") == text.count("}")
    points = re.findall(r"^(\d) (\d) (-?[\d.]+)$", text, flags=re.MULTILINE)
    assert [float(value) for *_, value in points[:6]] == NUMBERS.flatten().tolist()
    assert r"yticklabels={{x},{50 \%}}" in text
    assert r"xticklabels={{\_a},{b,c},{\textless{}/s\textgreater{}}}" in text
    assert r"a\_b \textrightarrow{} c \\ \textit{one}" in text


def test_tikz_is_what_latex_accepts():
    """As pdflatex has found it: no matrix plot of one row, lines of a title, characters that its fonts lack."""
    labels = ["→", "−", "a\nb", "`"]
    text = View("own", "first\nsecond", [Panel("one", np.ones((1, 4)), ["x"], labels)]).to_tikz()
    assert "matrix plot" not in text
    assert r"title={first \\ second}" in text
    assert r"{{\textrightarrow{}},{\textminus{}},{a?b},{\textasciigrave{}}}" in text
    assert "xmax=3.5" in text
    assert "ymax=0.5" in text


def test_tikz_of_curves():
    text = curves_tikz({"loss": {"by removal": [1.5, 2.0]}, "BLEU": {"by removal": [30, 20.5]}}, across="heads removed")
    assert text.count(r"\nextgroupplot") == 2
    assert r"\addplot coordinates {(0,30) (1,20.5)};" in text


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_the_same_twice(tmp_path, ending):
    for name in ("a", "b"):
        save_view(VIEW, tmp_path / f"{name}.{ending}", theme="light")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    with pytest.raises(UserError, match="must be one of"):
        save_view(VIEW, tmp_path / "a.gif")
