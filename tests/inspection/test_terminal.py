from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from limelight.inspection import text_picture
from limelight.inspection.terminal import BLOCKS, NARROWEST, shade
from tests.inspection.fakes import random_map, softmax

PIECES = st.lists(st.text(min_size=0, max_size=17), min_size=1, max_size=23)


@given(rows=PIECES, columns=PIECES, width=st.integers(NARROWEST, 130), seed=st.integers(0, 2**32 - 1))
def test_no_line_is_wider_than_asked_whatever_the_pieces(rows, columns, width, seed):
    weights = softmax(np.random.default_rng(seed).normal(size=(len(rows), len(columns))))
    picture = shade(weights, rows, columns, width=width)
    assert max(cell_len(line) for line in picture.split("\n")) <= width
    assert "\x1b" not in picture, "nothing but text: no colors, no control codes"


def test_every_cell_is_drawn_once_with_the_shade_of_its_weight():
    weights = np.asarray([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]], dtype=np.float32)
    picture = shade(weights, ["first", "second"], ["a", "bc", "d"], width=40, shades="01234")
    lines = picture.splitlines()
    assert lines[0].split() == ["b"]
    assert lines[1].split() == ["a", "c", "d"]
    assert lines[2] == "first  0 1133  75% d"
    assert lines[3] == "second 440 0  100% a"


def test_columns_that_do_not_fit_go_on_below(seed):
    count = 37
    weights = np.eye(count, dtype=np.float32)
    words = [f"w{number}" for number in range(count)]
    picture = shade(weights, words, words, width=40)
    full = BLOCKS[-1] * 2
    assert sum(line.count(full) for line in picture.splitlines() if "%" in line) == count
    parts = picture.split("\n\n")
    assert len(parts) > 3
    for word in words:
        named = [part for part in parts if f"100% {word}\n" in f"{part}\n"]
        assert len(named) == 1, "a row's most is named once"
        (row,) = [line for line in named[0].split("\n") if line.startswith(f"{word} ") and "%" in line]
        assert full in row, "beside its cell"


def test_a_label_has_its_cells_and_a_masked_one_is_blank():
    weights = np.asarray([[1.0, 0.0, 0.0], [0.7, 0.7, 0.0]], dtype=np.float32)
    may_attend = np.asarray([[True, False, False], [True, True, False]])
    first, second = shade(weights, ["x", "y"], ["a", "b", "c"], may_attend=may_attend).splitlines()[1:3]
    assert first == "x ██     100% a"
    assert second == "y ▓▓▓▓    70% a"
    without = shade(weights, ["x", "y"], ["a", "b", "c"]).splitlines()[1]
    assert without == "x ██· ·  100% a"


def test_the_sentence_stands_above_within_the_width(seed):
    attention = replace(random_map(seed), source_text="One two. " * 9, target_text="大海" * 40, model="runs/x")
    picture = text_picture(attention, width=40)
    title = picture.split("\n\n")[0].split("\n")
    assert max(map(cell_len, title)) <= 40
    assert " ".join(title).startswith("One two. One two.")
    assert "".join(title).count("大海") + "".join(title).count("海大") >= 40
    assert "model: runs/x" in title


def test_wide_and_combining_letters_keep_their_place():
    weights = np.asarray([[0.9, 0.1]], dtype=np.float32)
    lines = shade(weights, ["x"], ["大海", "n\u0303o"]).splitlines()
    assert lines[0] == "  大n\u0303"
    assert lines[1] == "  海o"
