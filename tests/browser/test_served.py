"""The page of a running service: what a visitor does, from the first sentence to the file that is taken along."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from limelight.inspection import attention_map
from limelight.pipelines.explain import Question, explain
from tests.browser.conftest import SIZES
from tests.browser.helpers import ON_STAGE, TEXT, downloaded, is_examined, rest, tokens, until, untrained
from tests.models.helpers import heads_kept


def output(page: Any) -> str:
    """The translation on the stage: what the model's search gives, whatever the guards of the service do."""
    return page.evaluate(ON_STAGE)


def settled(page: Any, before: str) -> str:
    """The translation, when it has become another one."""
    until(page, f"before => ({ON_STAGE})() !== before", before)
    rest(page)
    return output(page)


@pytest.mark.smoke
def test_a_sentence_is_typed_and_its_translation_read(open_page, service):
    page = open_page(service.url, allowed=service.url)
    rest(page)
    before = output(page)
    page.locator("textarea").fill("fedcab")
    expected = explain(untrained(), Question("fedcab", "en", "de"))
    assert settled(page, before) == expected["translation"]["text"]
    assert "text=fedcab" in page.url, "a link shows what its sender saw"
    words = [each.inner_text().strip() for each in tokens(page, 1).locator(".word").all()]
    assert words[:-1] == expected["translation"]["text"].split()


def test_a_word_is_forced(visit):
    page = visit("view=steps&step=1")
    before = output(page)
    other = page.locator("button.candidate:not(.chosen)").first
    name = other.locator(".name").inner_text()
    other.click()
    after = settled(page, before)
    assert after.split()[0] == before.split()[0]
    assert after.split()[1] == name
    page.get_by_role("tab", name="What if").click()
    assert "log-probability" in page.locator(".change").inner_text()
    page.get_by_role("button", name="Reset").click()
    assert settled(page, after) == before


def test_own_words_are_forced_and_back_undoes_it(visit):
    page = visit("view=steps&step=1")
    before = output(page)
    field = page.locator("#view-steps").get_by_label("Words to force")
    field.fill("fe")
    field.press("Enter")
    after = settled(page, before)
    first = explain(untrained(), Question(TEXT, "en", "de"))["translation"]["ids"][:1]
    expected = explain(untrained(), Question(TEXT, "en", "de", prefix=tuple(first), forced="fe"))["translation"]
    assert after == expected["text"]
    assert "the beginning “" in page.locator(".changes").inner_text()
    assert f"Without this: “{before}”" in page.locator(".changes").inner_text()
    page.get_by_role("tab", name="What if").click()
    assert len(expected["prefix"]) == 3
    assert page.locator(".kept").count() == 0, "nothing about the words before: forcing does not change them"
    page.go_back()
    assert settled(page, after) == before
    assert page.locator(".changes").inner_text() == ""


def test_a_file_opens_as_it_was_left_and_says_what_was_changed(visit, open_page, tmp_path):
    page = visit("view=influence&row=1&kind=cross&layer=1&head=2&off=decoder.0.cross:1")
    (tmp_path / "limelight.html").write_bytes(downloaded(page, "Everything as a page"))
    file = open_page((tmp_path / "limelight.html").as_uri())
    assert file.locator("#tab-influence").get_attribute("aria-selected") == "true"
    assert "layer 1, head 2" in file.locator(".stage-title").inner_text()
    assert tokens(file, 1).nth(1).get_attribute("aria-pressed") == "true"
    told = file.locator(".changes").inner_text()
    assert told.startswith("Changed: decoder.0.cross: head 1 off. Without this: “")
    assert told == page.locator(".changes").inner_text()


def test_an_empty_text_has_no_translation_and_a_long_one_is_refused(visit):
    page = visit()
    assert output(page) != ""
    page.locator("textarea").fill("  ")
    until(page, "() => document.querySelector('.output').textContent === ''")
    assert tokens(page, 0).count() == 0
    page.locator("textarea").fill("ab " * 2000)
    until(page, "() => document.querySelector('.status').textContent.includes('and the page takes 5000')")
    rest(page)


def test_every_view_is_within_320_pixels(visit):
    page = visit()
    page.set_viewport_size({"width": 320, "height": 700})
    for name in page.get_by_role("tab").all_inner_texts():
        page.get_by_role("tab", name=name).click()
        rest(page)
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, name


def test_an_edited_source_stands_beside_the_old_one(visit):
    page = visit("view=whatif&off=decoder.0.cross:1")
    before, off = output(page), {"decoder.0.cross": [1]}
    page.get_by_label("Source, edited").fill("fedcab")
    after = settled(page, before)
    old, new = (
        explain(untrained(), Question(text, "en", "de", off=off if text != TEXT else {})) for text in (TEXT, "fedcab")
    )
    assert after == new["translation"]["text"]
    numbers = page.locator(".version .number").all_inner_texts()
    assert numbers == [f"{each['translation']['log_probability']:.2f}" for each in (old, new)]
    kept = explain(untrained(), Question("fedcab", "en", "de", target=tuple(old["translation"]["ids"]), off=off))
    assert (
        f"have log-probability {kept['translation']['log_probability']:.2f}"
        in page.locator("#view-whatif").inner_text()
    )
    assert page.locator(".version .source").all_inner_texts() == [TEXT, "fedcab"]
    assert f"before={TEXT}" in page.url, "a link shows what its sender saw"
    page.get_by_role("button", name="Reset").click()
    until(page, "() => !location.hash.includes('before')")
    rest(page)
    assert page.locator("textarea").input_value() == TEXT
    assert output(page) == explain(untrained(), Question(TEXT, "en", "de"))["translation"]["text"]


@pytest.mark.parametrize("view", ["heads", "steps", "beam", "whatif", "map"])
def test_the_open_view_is_saved_as_a_picture(visit, view):
    page = visit(f"view={view}&step=1")
    page.wait_for_timeout(300)
    for name, start in (("This view as SVG", b"<svg"), ("This view as PNG", b"\x89PNG")):
        page.locator(".menu summary").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        assert download.value.suggested_filename == f"{view}.{name[-3:].lower()}"
        content = Path(download.value.path()).read_bytes()
        assert content.startswith(start)
        if start == b"<svg":
            words = re.findall(r"<text[^>]*>([^<]*)", content.decode())
            seen = page.locator(f"#view-{view}").inner_text()
            assert len(words) > 10
            there = {*re.findall(r"\w+", seen.lower()), TEXT}
            assert {word.lower() for word in words if word.isalpha()} <= there, "what is seen, and nothing else"


def test_a_head_that_is_off_is_keep_heads_in_python(visit):
    page = visit("view=heads")
    for head in range(3):
        page.locator(".thumbnail").nth(head).click()
        until(page, f"() => document.querySelector('.opened').textContent.startsWith('layer 0, head {head}')")
        page.get_by_role("button", name="Switch off").click()
        page.get_by_role("button", name="Switch on").wait_for()
        rest(page)
    page.get_by_role("button", name="Mean of all").click()
    until(page, "() => document.querySelector('.stage-title').textContent.includes('mean of the 3 heads')")
    one = untrained()
    found = explain(one, Question(TEXT, "en", "de", off={"decoder.0.cross": [0, 1, 2]}))
    assert output(page) == found["translation"]["text"]
    ids = found["translation"]["ids"]
    with heads_kept(one.model, {"decoder.0.cross": torch.zeros(3)}):
        seen = attention_map(one.model, one.tokenizers, TEXT, ids)
    assert "decoder.0.cross" in page.url
    tokens(page, 1).first.hover()
    lit = [float(each.evaluate("node => node.style.getPropertyValue('--lit')")) for each in tokens(page, 0).all()]
    np.testing.assert_allclose(lit, seen.merge_words().average("cross", layer=1)[0], atol=1e-3)  # the heads that are on


def test_the_beam_goes_on_from_a_branch(visit):
    page = visit("view=beam")
    before = output(page)
    page.locator(".node.outscored:not(:has-text('end'))").first.click()
    settled(page, before)


def test_only_what_is_in_view_of_the_beam_is_laid_out(visit):
    page = visit("view=beam", "phone")
    there = "[...document.querySelectorAll('.node')].map((node) => node.checkVisibility({contentVisibilityAuto: true}))"
    page.locator("#view-beam .scroll").scroll_into_view_if_needed()
    until(page, f"() => {there}[0] && !{there}.every(Boolean)")
    page.locator(".node").last.focus()
    until(page, f"() => {there}.at(-1)")


def test_the_numbers_of_every_head_are_there(visit):
    page = visit("view=steps&kind=encoder_self&layer=1&head=2&row=3")
    page.wait_for_selector(".numbers tbody tr")
    assert page.locator(".numbers tbody tr").count() == len(TEXT) + 1
    assert page.locator("#view-steps canvas").count() == 4, "q, all keys, all values, the sum"
    box = page.locator(".column canvas").first.bounding_box()
    rows = page.locator(".numbers tbody").bounding_box()
    assert (box["y"], box["height"]) == pytest.approx((rows["y"], rows["height"]), abs=1), "a strip beside its token"


@pytest.mark.smoke
def test_what_a_user_types_is_text(visit):
    page = visit()
    page.locator("textarea").fill("<img src=x onerror=alert(1)>")
    page.wait_for_timeout(600)
    assert page.locator("img").count() == 0


def test_a_mistake_is_told_where_one_types(open_page, service):
    address = f"{service.url}/#model=untrained&from=en&to=de&text={'a' * 300}"
    context = open_page("about:blank").context
    page = context.new_page()  # the console tells of an answer of 400, and this page may
    page.set_default_timeout(60_000)
    page.goto(address)
    page.get_by_text("at most 200 are explained").wait_for()


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("view", ["heads", "steps", "beam", "whatif"])
def test_every_view_is_accessible(visit, accessible, picture, view, theme):
    for size in ("phone", "laptop"):
        page = visit(f"view={view}&theme={theme}&off=decoder.0.cross:1", size)
        page.wait_for_selector(f"#view-{view}:visible")
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
        picture(page, f"served-{view}-{size}-{theme}")
        if is_examined(view, theme, size):
            accessible(page)
