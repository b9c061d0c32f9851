import io
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib._pylab_helpers import Gcf
from matplotlib.image import imread

from limelight.errors import UserError
from limelight.inspection import AttentionMap
from limelight.inspection.heatmap import _families, draw, picture_bytes
from tests.inspection.fakes import random_map


def diagonal(words, **texts) -> AttentionMap:
    """A map of cross-attention alone, each word to itself."""
    sides = {f"{side}_pieces": tuple(words) for side in ("source", "target", "read")}
    sides |= {f"{side}_words": tuple(range(len(words))) for side in ("source", "target", "read")}
    none, one = np.zeros((0, 0, len(words), len(words)), np.float32), np.eye(len(words), dtype=np.float32)[None, None]
    return AttentionMap(**sides, encoder_self=none, decoder_self=none, cross=one, **texts)


def svg_texts(figure):
    root = ElementTree.fromstring(picture_bytes(figure, "svg"))
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def labels(figure):
    axes = figure.axes[0]
    return [[tick.get_text() for tick in ticks] for ticks in (axes.get_yticklabels(), axes.get_xticklabels())]


@pytest.mark.parametrize("kind", ["encoder_self", "decoder_self", "cross"])
def test_one_map_shows_the_average_under_its_pieces(seed, kind):
    attention = random_map(seed, source="ab cd", target="ef g")
    figure = draw(attention, kind)
    assert labels(figure) == [list(side) for side in attention.labels(kind)]
    shown = figure.axes[0].images[0].get_array()
    np.testing.assert_array_equal(shown.data, attention.average(kind))
    np.testing.assert_array_equal(~np.ma.getmaskarray(shown), attention.may_attend(kind))
    assert figure.axes[0].images[0].get_clim() == (0, 1), "one scale for all pictures"


def test_labels_stay_text_in_svg(seed):
    attention = random_map(seed, source="ab cd", target="ef g").merge_words()
    texts = svg_texts(draw(attention, layer=1, heads=[0, 1]))
    assert {"ab", "cd", "ef", "g", "</s>"} <= set(texts)
    assert "layer 1, mean of heads 0, 1" in texts


def test_a_grid_shows_every_layer_and_head_with_one_scale(seed):
    attention = random_map(seed, cross=(3, 2))
    figure = draw(attention, grid=True)
    alone = draw(random_map(seed, cross=(2, 1)), grid=True)
    assert [axes.get_xlabel() for axes in alone.axes if axes.get_xlabel()] == ["layer 0, head 0", "layer 1, head 0"]
    panels = [axes for axes in figure.axes if axes.get_xlabel()]
    assert [axes.get_xlabel() for axes in panels] == [f"layer {l}, head {h}" for l in range(3) for h in range(2)]  # noqa: E741
    for number, axes in enumerate(panels):
        np.testing.assert_array_equal(axes.images[0].get_array(), attention.cross[number // 2, number % 2])
        assert axes.images[0].get_clim() == (0, 1)
    assert labels(figure)[0] == list(attention.target_pieces)


def test_a_very_long_sentence_still_fits_in_a_picture():
    words = [f"word{number}" for number in range(400)]
    figure = draw(diagonal(words))
    width, height = figure.get_size_inches()
    assert max(width, height) < 45
    shown = labels(figure)[0]
    assert shown[0] == "word0"
    assert len(shown) <= 400


PIECES = ["$5", "$x$", "a_b", "<&>", "100%", "\\alpha", "大海", "ไทย", "مرحبا", "😀", "a\x00b\nc", "\ud800", ""]


@pytest.mark.parametrize("form", ["png", "svg"])
def test_any_piece_can_be_a_label_without_a_warning(form):
    figure = draw(diagonal(PIECES, source_text=" ".join(PIECES).replace("\ud800", "")))
    assert len(picture_bytes(figure, form)) > 1000


def test_no_font_of_boxes_is_chosen():
    assert _families(["two\nlines"]) == ["DejaVu Sans"]
    assert not any("Last Resort" in name for name in _families(["\u1c5a\U0010fffd"]))


def test_the_sentence_and_the_model_stand_in_the_title(seed):
    attention = replace(random_map(seed), source_text="A dog $5.", target_text="Ein\nHund.", model="runs/en-de")
    for figure in (draw(attention), draw(attention, grid=True)):
        texts = svg_texts(figure)
        assert {"A dog $5.", "→ Ein�Hund.", "model: runs/en-de"} <= set(texts)
    long = replace(attention, source_text="word " * 60, target_text="")
    widths = [imread(io.BytesIO(picture_bytes(draw(each), "png"))).shape[1] for each in (attention, long)]
    assert widths[1] < 2 * widths[0], "a long sentence is broken into lines"


def test_nothing_global_is_touched(seed):
    before = dict(rcParams)
    picture_bytes(draw(random_map(seed), grid=True), "svg")
    assert dict(rcParams) == before
    assert not Gcf.figs, "pyplot would keep the figure, and a server would fill its memory"


def test_a_missing_matplotlib_is_named(seed, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r'pip install "limelight\[plot\]"'):
        draw(random_map(seed))
