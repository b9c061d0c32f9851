import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from limelight.errors import UserError
from limelight.inspection import text_picture
from limelight.inspection.terminal import ASCII, BLOCKS, NARROWEST, shade
from tests.inspection.fakes import random_map, softmax

PIECES = st.lists(st.text(min_size=0, max_size=17), min_size=1, max_size=23)


@given(rows=PIECES, columns=PIECES, width=st.integers(NARROWEST, 130), seed=st.integers(0, 2**32 - 1))
def test_no_line_is_wider_than_asked_whatever_the_pieces(rows, columns, width, seed):
    weights = softmax(np.random.default_rng(seed).normal(size=(len(rows), len(columns))))
    picture = shade(weights, rows, columns, width=width)
    assert max(cell_len(line) for line in picture.split("\n")) <= width
    assert "\x1b" not in picture, "nothing but text: no colours, no control codes"


def test_every_cell_is_drawn_once_with_the_shade_of_its_weight():
    weights = np.asarray([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]], dtype=np.float32)
    picture = shade(weights, ["first", "second"], ["a", "bc", "d"], width=40, shades="01234")
    lines = picture.splitlines()
    assert lines[0].split() == ["b"]
    assert lines[1].split() == ["a", "c", "d"]
    assert lines[2] == "first  001133  75% d"
    assert lines[3] == "second 440000 100% a"


def test_columns_that_do_not_fit_go_on_below(seed):
    count = 37
    weights = np.eye(count, dtype=np.float32)
    words = [f"w{number}" for number in range(count)]
    picture = shade(weights, words, words, width=40)
    full = BLOCKS[-1] * 2
    assert sum(line.count(full) for line in picture.splitlines() if "%" in line) == count
    assert picture.count("100% w36") > 1, "each part names where a row looked most"


def test_the_legend_names_the_weight_at_which_a_shade_begins():
    picture = shade(np.asarray([[0.5, 0.25]], dtype=np.float32), ["row"], ["a", "b"])
    assert "░░ from 0.10   ▒▒ from 0.20   ▓▓ from 0.30   ██ from 0.40" in picture


def test_other_shades_for_terminals_without_blocks(seed):
    picture = text_picture(random_map(seed), shades=ASCII)
    assert picture.replace("▁", "").replace("�", "").isascii()


def test_wide_and_combining_letters_keep_their_place():
    weights = np.asarray([[0.9, 0.1]], dtype=np.float32)
    lines = shade(weights, ["x"], ["大海", "n\u0303o"]).splitlines()
    assert lines[0] == "  大n\u0303"
    assert lines[1] == "  海o"


def test_long_words_are_cut_with_an_ellipsis():
    weights = np.ones((1, 1), dtype=np.float32)
    picture = shade(weights, ["r" * 50], ["c" * 50], width=40)
    assert "r" * 9 + "…" in picture
    assert picture.splitlines().count(" " * 11 + "…") == 1


def test_a_row_of_zeros_says_nothing_and_is_drawn():
    picture = shade(np.zeros((1, 2), dtype=np.float32), ["row"], ["a", "b"])
    assert "row\n" in picture


def test_a_map_is_drawn_from_its_chosen_layer_and_head(seed):
    attention = random_map(seed)
    picture = text_picture(attention, "cross", layer=1, heads=0)
    assert picture == shade(attention.cross[1, 0], attention.target_pieces, attention.source_pieces)
    assert "left out" not in picture
    assert text_picture(attention.without_end()).endswith("\n</s> left out, rescaled")


def test_a_width_that_is_too_narrow_is_named(seed):
    with pytest.raises(UserError, match=r"width of 23 is too narrow .* at least 24 columns"):
        text_picture(random_map(seed), width=23)


def test_nothing_to_draw_is_named(seed):
    with pytest.raises(UserError, match="nothing to draw"):
        text_picture(random_map(seed, source="").without_end())
