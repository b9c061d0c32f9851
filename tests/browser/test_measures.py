"""What weights do not say, on the page; and what a visitor is told of a model that loads and a service that is gone."""

from typing import Any

import numpy as np
import pytest

from limelight.inspection import attention_map
from limelight.inspection.erasure import TokenizedPair, erasures
from limelight.pipelines.explain import Explanation, Question, explain, explained_page
from tests.browser.conftest import SIZES
from tests.browser.helpers import ON_STAGE, TEXT, rest, tokens, until, untrained
from tests.pipelines.test_explain import array


def said(one: Any, text: str = TEXT) -> Question:
    """The question for the translation of a text."""
    return Question(text, "en", "de", target=tuple(explain(one, Question(text, "en", "de"))["translation"]["ids"]))


def lit(page: Any) -> list[float]:
    """How bright the tokens are that the first token of the translation attends to."""
    tokens(page, 1).first.hover()
    return [float(each.evaluate("node => node.style.getPropertyValue('--lit')")) for each in tokens(page, 0).all()]


@pytest.mark.parametrize("head", [None, (1, 2)])
def test_contributions_are_on_the_stage(visit, head):
    one = untrained()
    found = Explanation(one, said(one)).measures()["contributions"]["cross"]
    page = visit(f"layer={head[0]}&head={head[1]}" if head else "")
    page.get_by_role("button", name="Show contributions").click()
    until(page, "() => document.querySelector('.stage-title').textContent.includes('contributions')")
    if head is None:
        expected = array(found["mean"])[0]
    else:
        matrices = explain(one, said(one), every_head=True)["matrices"]
        expected = array(matrices["cross"])[head][0] * array(found["norms"])[head]
        expected = expected / expected.sum()
    np.testing.assert_allclose(lit(page), expected, atol=2e-3)
    assert "measure=contributions" in page.url


def test_a_head_that_is_off_lights_nothing(visit):
    page = visit("off=decoder.0.cross:1&layer=0&head=1")
    assert lit(page) == [0.0] * (len(TEXT) + 1)
    assert "switched off" in page.locator(".stage-title").inner_text()
    page.get_by_role("button", name="Mean of all").click()
    assert "mean of the 5 heads of 6 that are on" in page.locator(".stage-title").inner_text()


def kendall(weights: np.ndarray, drops: np.ndarray) -> float:
    """The mean over the rows of tau-b, from its definition; rows without an order are left out."""
    taus = []
    for row, other in zip(weights, drops, strict=True):
        upper = np.triu_indices(len(row), 1)
        signs, others = (np.sign(np.subtract.outer(values, values))[upper] for values in (row, other))
        if signs.any() and others.any():
            taus.append((signs * others).sum() / np.sqrt((signs**2).sum() * (others**2).sum()))
    return float(np.mean(taus))


@pytest.mark.parametrize("size", SIZES)
def test_influence_shows_what_is_lost_and_what_attention_explains(visit, size, accessible, picture):
    one = untrained()
    question = said(one)
    source = one.tokenizers.source.encode(TEXT)
    rows = TokenizedPair(source, question.target or (), [[each] for each in range(len(source))], (), (len(source), 0))
    seen = attention_map(one.model, one.tokenizers, TEXT, question.target or ()).average("cross")[:-1, :-1]
    page = visit("view=influence", size)
    until(page, "() => document.querySelectorAll('#view-influence .explains td').length > 0")
    expected = f"{kendall(seen, erasures(one.model, rows).T):.2f}"
    assert page.locator("#view-influence .explains td").first.inner_text() == expected
    if size != "projector":
        accessible(page)
    picture(page, f"influence-{size}")


def test_the_slider_shows_the_translation_after_a_layer(visit, accessible):
    page = visit("view=layers")
    one = untrained()
    found = Explanation(one, said(one)).layers()
    until(page, "() => document.querySelectorAll('#view-layers tbody tr').length > 0")
    slider = page.get_by_label("Encoder layer")
    for depth in range(len(found["encoder"])):
        slider.fill(str(depth))
        text = found["encoder"][depth]["text"]
        until(page, "text => document.querySelector('#view-layers .sentence').textContent.trim() === text", text)
    assert "depth=" in page.url
    accessible(page)


def test_words_that_translate_one_another_are_outlined(visit):
    page = visit()
    document = explain(untrained(), Question(TEXT, "en", "de"))
    alignment, words = document["alignment"], document["sides"]["source"]["words"]
    row = next(place for place, columns in enumerate(alignment) if columns)
    tokens(page, 1).nth(row).hover()
    (column,) = alignment[row]
    upper = tokens(page, 0).all()
    outlined = [place for place, each in enumerate(upper) if "aligned" in each.get_attribute("class")]
    assert outlined == [column]
    assert f"Aligned with “{words[column]['text']}”" in page.locator(".spoken").inner_text()
    tokens(page, 0).nth(column).hover()
    assert "aligned" in tokens(page, 1).nth(row).get_attribute("class")


def test_a_file_holds_the_measures(open_page, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(explained_page(untrained(), Question(TEXT, "en", "de")), encoding="utf-8")
    page = open_page(f"{path.as_uri()}#view=influence&measure=contributions")
    until(page, "() => document.querySelectorAll('#view-influence .explains td').length > 0")
    assert "contributions" in page.locator(".stage-title").inner_text()
    for name, cells in (("Layers", "#view-layers tbody tr"), ("Map", ".track .plate"), ("Map", "#view-map .inside tr")):
        page.get_by_role("tab", name=name).click()
        until(page, "cells => document.querySelectorAll(cells).length > 0", cells)
    assert page.locator(".inside canvas").count() == 0, "the vectors themselves are asked from a service"


def test_the_focus_stays_where_a_word_was_forced(visit, accessible):
    page = visit("view=steps&step=1")
    other = page.locator("button.candidate:not(.chosen)").first
    key = other.get_attribute("data-key")
    other.focus()
    page.keyboard.press("Enter")
    until(page, "() => location.hash.includes('prefix')")
    rest(page)
    assert page.evaluate("() => document.activeElement.dataset.key") == key
    page.get_by_role("tab", name="What if").click()
    accessible(page)


def test_a_paragraph_is_split_as_everywhere_else(visit, service):
    text = "AB cd. EF gh. AB ef."
    page = visit()
    page.locator("textarea").fill(text)
    until(page, "() => document.querySelectorAll('.output .part').length > 1")
    rest(page)
    asked = {"text": text, "source_lang": "en", "target_lang": "de", "model": "untrained"}
    parts = [each["source"] for each in service.post("/api/v1/translate", asked).value["translations"][0]["sentences"]]
    assert len(parts) > 1
    assert page.locator(".output .part").evaluate_all("all => all.map(each => each.title)") == parts
    page.locator(".output .part").nth(1).click()
    until(page, "() => location.hash.includes('sentence=1')")
    rest(page)
    expected = explain(untrained(), Question(parts[1], "en", "de"))["translation"]["text"]
    assert page.locator(".output .part").nth(1).inner_text() == expected
    words = [each.inner_text().strip() for each in tokens(page, 1).locator(".word").all()]
    assert words[:-1] == expected.split()


def test_a_link_to_a_model_that_is_not_here_says_so(open_page, service):
    page = open_page(f"{service.url}/#model=nope&text={TEXT}", allowed=service.url)
    rest(page)
    assert "the model “nope”, which is not here. untrained is shown instead" in page.locator(".translate").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_that_of_the_system_until_one_is_chosen(open_page, service, scheme):
    page = open_page(service.url, allowed=service.url, color_scheme=scheme)
    rest(page)
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    other = {"light": "dark", "dark": "light"}[scheme]
    page.get_by_role("button", name=f"{other.capitalize()} theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == other
    assert f"theme={other}" in page.url


def test_a_service_that_is_lost_and_comes_back_is_asked_again(chromium, service):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(f"{service.url}/#model=untrained&from=en&to=de&text={TEXT}")
    rest(page)
    context.set_offline(True)
    page.locator("textarea").fill("fedcab")
    until(page, "() => document.querySelector('.output').classList.contains('stale')")
    assert "cannot be reached" in page.locator(".translate").inner_text()
    context.set_offline(False)
    expected = explain(untrained(), Question("fedcab", "en", "de"))["translation"]["text"]
    until(page, f"text => ({ON_STAGE})() === text", expected)
    until(page, "() => !document.querySelector('.output').classList.contains('stale')")
    context.close()


@pytest.mark.parametrize("text", [TEXT, ""])
def test_a_page_that_nobody_touches_notices_that_the_service_is_lost_and_is_back(chromium, service, text):
    context = chromium.new_context()
    page = context.new_page()
    page.clock.install()
    page.goto(f"{service.url}/#model=untrained&from=en&to=de&text={TEXT}")
    until_ticking(page, "() => document.querySelector('main')?.getAttribute('aria-busy') === 'false'")
    page.locator("textarea").fill(text)
    page.clock.run_for(1_000)
    until_ticking(page, "() => document.querySelector('main')?.getAttribute('aria-busy') === 'false'")
    told = "() => document.querySelector('.translate').textContent.includes('cannot be reached')"
    asked = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/api/v1/")[2]))
    page.clock.run_for(60_000)
    assert asked == ["health/live"], "once a minute the lightest question"
    context.set_offline(True)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    until(page, told)
    assert page.locator(".output.stale").count() == 1
    page.clock.run_for(5_000)
    assert page.evaluate(told), "while it is lost"
    context.set_offline(False)
    until_ticking(page, told.replace("=> document", "=> !document"))
    assert page.locator(".output.stale").count() == 0
    context.close()


def until_ticking(page, expression):
    """`until` on a page whose clock is in the hands of the test."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.clock.run_for(100)
        page.wait_for_timeout(30)
    raise AssertionError(f"it does not hold: {expression}")


def test_a_hidden_page_asks_nothing(chromium, service):
    context = chromium.new_context()
    page = context.new_page()
    page.clock.install()
    page.add_init_script("Object.defineProperty(document, 'visibilityState', {get: () => 'hidden'})")
    page.goto(f"{service.url}/#model=untrained&from=en&to=de&text={TEXT}")
    until_ticking(page, "() => document.querySelector('main')?.getAttribute('aria-busy') === 'false'")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(600_000)
    assert asked == []
    context.close()


def test_the_signs_on_the_stage_are_explained_as_far_as_they_are_there(visit):
    page = visit("kind=cross")
    assert [page.locator(f".sign.{name}").count() for name in ("sure", "aligned", "start", "end")] == [1, 1, 0, 1]
    page.get_by_role("button", name="Target to target").click()
    until(page, "() => document.querySelectorAll('.sign.start').length === 1")
    assert page.locator(".sign.aligned").count() == 0, "within one language nothing is translated"
