"""The map, the inside of a layer, drawing of words, heads in colors: the numbers are those of Python."""

import re
from typing import Any

import numpy as np
import pytest
import torch

from limelight.decoding.sampling import permit
from limelight.pipelines.explain import Explanation, Question, explain
from tests.browser.conftest import SIZES
from tests.browser.helpers import TEXT, rest, tokens, until, untrained
from tests.pipelines.test_explain import array


@pytest.fixture(scope="module")
def given() -> Question:
    """The question for the translation of the text."""
    ids = explain(untrained(), Question(TEXT, "en", "de"))["translation"]["ids"]
    return Question(TEXT, "en", "de", target=tuple(ids))


def drawn(page: Any) -> None:
    until(page, "() => document.querySelectorAll('.track .plate').length > 0")
    until(page, "() => document.querySelectorAll('#view-map .inside tbody tr').length > 0")


@pytest.mark.parametrize("size", SIZES)
def test_the_map_is_drawn_at_every_size(visit: Any, size: str, accessible: Any) -> None:
    page = visit("view=map", size)
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0], "nothing sticks out"
    if size != "projector":
        accessible(page)


def test_the_numbers_of_the_boxes_and_lanes_are_those_of_python(visit: Any, given: Question) -> None:
    page = visit("view=map")
    drawn(page)
    found = Explanation(untrained(), given).map()
    for track, stack in zip(page.locator(".track").all(), found["stacks"], strict=True):
        plates = track.locator(".plate").all()
        assert len(plates) == len(stack["stages"])
        assert track.locator("canvas").count() == len(stack["heat"]) == 2, "embeddings and sinusoids"
        for plate, stage in zip(plates, stack["stages"], strict=True):
            norms = array(stage["norms"])
            assert plate.locator("small").inner_text() == f"{norms[2 if len(norms) > 1 else 0].mean():.2f}"
        stage = next(each for each in stack["stages"] if (each["what"], each["layer"]) == ("feed_forward", 1))
        before, _, added, _, after = array(stage["norms"])[:, 2]
        box = track.locator(".boxes").bounding_box()
        at = plates[stack["stages"].index(stage)].bounding_box()
        lanes = len(array(stage["norms"])[0])
        track.scroll_into_view_if_needed()
        track.locator(".boxes").hover(
            position={"x": at["x"] - box["x"] + at["width"] / 2, "y": 2.5 * box["height"] / lanes}, force=True
        )
        told = page.locator(".tracks + .reading").inner_text()
        cosine = array(stage["cosine"])[2]
        assert f"norm {before:.2f} before, adds {added:.2f} (cosine {cosine:.2f}), {after:.2f} after" in told


def test_a_click_on_the_map_opens_what_it_shows_and_every_head_is_found_on_it(visit: Any) -> None:
    page = visit("view=map")
    drawn(page)
    page.get_by_role("button", name="Cross-attention, layer 1: adds").click()
    until(page, "() => /view-heads/.test(document.querySelector('[role=tabpanel]:not([hidden])').id)")
    assert "kind=cross" in page.url
    assert re.search("layer=1", page.url)
    page.get_by_role("button", name="On the map").click()
    current = page.locator(".plate[aria-current=true]")
    assert current.get_attribute("aria-label").startswith("Cross-attention, layer 1")
    assert page.locator(".so-far").filter(has_text="You are here: target to source, layer 1, head").count() == 1
    page.get_by_role("button", name="Next word").click()
    until(page, "() => !document.querySelector('#view-steps').hidden")


def test_inside_a_layer_are_the_norms_and_cosines_of_python(visit: Any, given: Question) -> None:
    page = visit("view=map&inside=encoder.0&place=3")
    drawn(page)
    stack = Explanation(untrained(), given).map()["stacks"][0]
    expected = []
    for stage in (each for each in stack["stages"] if each["layer"] == 0):
        before, _, added, total, after = array(stage["norms"])[:, 3]
        first = [] if expected else [f"{before:.2f}"]
        expected += [*first, f"{added:.2f}", f"{array(stage['cosine'])[3]:.2f}", f"{total:.2f}", f"{after:.2f}"]
    numbers = page.locator(".inside tbody .number").all_inner_texts()
    assert [each for each in numbers if each] == expected
    assert page.locator(".inside canvas").count() == len(expected) - 2, "a strip for each vector"
    units = Explanation(untrained(), given).inside("encoder", 0, 3)["units"]
    assert f"{units['active']} of {units['size']} units" in page.locator("#view-map").inner_text()
    page.get_by_label("Layer", exact=True).select_option("decoder.1")
    until(page, "() => document.querySelector('#view-map').textContent.includes('points most to')")
    raised = Explanation(untrained(), given).inside("decoder", 1, 3)["raised"][0]
    assert f"“{raised['text']}” {raised['value']:.2f}" in page.locator("#view-map").inner_text()
    assert "inside=decoder.1" in page.url


def chances(page: Any) -> list[float]:
    return [float(each) for each in page.locator("#view-steps .candidate .value").all_inner_texts()]


@pytest.mark.parametrize(("heat", "top_k", "top_p"), [(50, 0, 100), (150, 4, 100), (100, 0, 60), (130, 6, 55)])
def test_what_the_sliders_leave_is_what_decoding_draws_from(
    visit: Any, given: Question, heat: int, top_k: int, top_p: int
) -> None:
    page = visit(f"view=steps&step=2&heat={heat}&top_k={top_k}&top_p={top_p}")
    until(page, "() => document.querySelector('#view-steps').textContent.includes('may be drawn')")
    values = torch.from_numpy(array(Explanation(untrained(), given).distribution(2)).astype(np.float64))
    top = permit(values[None] / (heat / 100), top_k, top_p / 100)
    left = torch.zeros(len(values), dtype=torch.float64).scatter(0, top.ids[0], top.logits[0].softmax(dim=-1))
    steps = explain(untrained(), Question(TEXT, "en", "de"))["steps"][2]
    shown = [each["id"] for each in steps["candidates"]]
    np.testing.assert_allclose(chances(page), left[shown].numpy(), atol=6e-4)
    assert f"{int((left > 0).sum())} tokens may be drawn" in page.locator("#view-steps").inner_text()


def test_a_word_is_drawn_and_the_translation_goes_on_from_it(visit: Any) -> None:
    page = visit("view=steps&step=1&top_k=1")
    ids = explain(untrained(), Question(TEXT, "en", "de"))["translation"]["ids"]
    best = explain(untrained(), Question(TEXT, "en", "de"))["steps"][1]["candidates"][0]["id"]
    page.get_by_role("button", name="Draw the next word").click()
    until(page, "() => location.hash.includes('step=2')")
    rest(page)
    assert f"prefix={ids[0]}.{best}" in page.url, "of one permitted token it is that one"
    assert "Drawn with probability 1.00" in page.locator("#view-steps").inner_text()
    page.get_by_role("slider", name="Top-k").fill("3")
    page.evaluate("Math.random = () => 0.999999")
    expected = explain(untrained(), Question(TEXT, "en", "de", prefix=(ids[0], best)))
    third = expected["steps"][2]["candidates"][2]
    page.get_by_role("button", name="Draw the next word").click()
    if third.get("role") == "end":
        page.get_by_text("Drawn: the end token").wait_for()
    else:
        until(page, "() => location.hash.includes('step=3')")
        assert f"prefix={ids[0]}.{best}.{third['id']}" in page.url


def test_several_heads_are_on_the_stage_in_their_colors(visit: Any, accessible: Any) -> None:
    page = visit("kind=cross")
    page.locator(".thumbnail").nth(1).click()
    page.get_by_role("button", name="Several in colors").click()
    page.locator(".thumbnail").nth(5).click()
    until(page, "() => document.querySelector('.stage-title').textContent.endsWith('heads in colors: 2')")
    assert "colors=0.1%2C1.2" in page.url
    assert page.locator(".thumbnail.head-0").get_attribute("data-place") == "0/1"
    assert page.locator(".thumbnail.head-1").get_attribute("data-place") == "1/2"
    found = explain(untrained(), Question(TEXT, "en", "de"), every_head=True)
    weights = array(found["matrices"]["cross"])
    tokens(page, 1).nth(2).hover()
    for place, (layer, head) in enumerate([(0, 1), (1, 2)]):
        row = weights[layer, head, 2]
        assert page.locator(f".cones .head-{place}").count() == int((row >= 0.06).sum())
        assert f"layer {layer}, head {head} “" in page.locator(".spoken").inner_text()
        assert f"{row.max():.2f}" in page.locator(".spoken").inner_text()
    assert page.locator(".signs .head").count() == 2
    accessible(page)
    page.locator(".thumbnail").nth(5).click()
    page.locator(".thumbnail").nth(1).click()
    until(page, "() => !location.hash.includes('colors')")
    page.get_by_role("button", name="Several in colors").click()
    page.get_by_role("button", name="Tour", exact=True).click()
    until(page, "() => document.querySelector('.stage-title').textContent.endsWith('mean of all layers and heads')")


def test_similar_words_are_those_of_python_and_a_click_opens_their_sentence(
    visit: Any, given: Question, accessible: Any
) -> None:
    page = visit("kind=encoder_self")
    tokens(page, 0).nth(2).click()
    page.get_by_role("button", name="Similar words").click()
    lines = page.get_by_label("Sentences to search")
    texts = ["fedc", "bca"]
    lines.fill("\n".join(texts))
    page.get_by_role("button", name="Search these").click()
    for layer in (1, 0):
        page.get_by_label("Encoder layer").select_option(str(layer))
        found = Explanation(untrained(), given).similar(layer, 2, texts)
        values = "[...document.querySelectorAll('.similar .value')].map((each) => each.textContent)"
        until(page, f"values => {values}.join() === values", ",".join(f"{each['cosine']:.2f}" for each in found))
        assert page.locator(".similar .name").all_inner_texts() == [each["text"] for each in found]
    accessible(page)
    page.locator(".similar button").first.click()
    rest(page)
    assert page.locator("textarea").first.input_value() == found[0]["text"]
    assert page.get_by_label("Word", exact=True).input_value() == str(found[0]["number"])
    lines.fill("")
    page.get_by_role("button", name="Search these").click()
    page.get_by_text("Put some into the field, one a line").wait_for()
