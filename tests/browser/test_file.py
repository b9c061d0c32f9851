"""The page as one file, without a server."""

import json

import numpy as np
import pytest

from limelight.inspection import AttentionMap
from limelight.inspection.page_data import page_document
from limelight.inspection.standalone import standalone_page
from limelight.pipelines.explain import Question, explained_page
from limelight.storage.tables import Role, Roles
from tests.browser.conftest import SIZES
from tests.browser.helpers import downloaded, downloaded_rows, is_examined, tokens, until, untrained
from tests.inspection.fakes import random_map, softmax
from tests.pipelines.test_explain import array

SEED = 11


@pytest.fixture(scope="module")
def seen() -> AttentionMap:
    return random_map(SEED, encoder=(2, 4), decoder=(2, 4), cross=(2, 4))


@pytest.fixture(scope="module")
def address(seen: AttentionMap, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "map.html"
    seen.to_html(path)
    return path.as_uri()


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of an untrained model, which has steps, a beam and look-ups as any other."""
    translator = untrained()
    path = tmp_path_factory.mktemp("page") / "explained.html"
    path.write_text(explained_page(translator, Question("ab cde f", beam_size=3)), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("view", ["heads", "steps", "beam"])
def test_every_view_is_accessible(open_page, accessible, picture, explained, theme, view):
    for size in SIZES:
        page = open_page(f"{explained}#view={view}&theme={theme}&step=2", size)
        page.wait_for_selector(f"#view-{view}:visible")
        page.wait_for_selector(".token")
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0], "nothing sticks out"
        picture(page, f"file-{view}-{size}-{theme}")
        if size != "projector" and is_examined(view, theme, size):
            accessible(page)


@pytest.mark.smoke
def test_pointing_at_a_word_lights_what_it_attends_to(open_page, address, seen):
    page = open_page(address)
    words = seen.merge_words()
    row = words.average("cross")[1]
    tokens(page, 1).nth(1).hover()
    assert page.locator(".cone").count() == int((row >= 0.01).sum())
    best = int(row.argmax())
    name = words.source_pieces[best]
    caption = page.locator(".spoken").inner_text()
    assert caption.startswith(f"“{words.target_pieces[1]}” attends to")
    assert f"{'the end token' if name == '</s>' else f'“{name}”'} {row[best]:.2f}" in caption
    lit = [float(each.evaluate("node => node.style.getPropertyValue('--lit')")) for each in tokens(page, 0).all()]
    np.testing.assert_allclose(lit, row, atol=1e-3)
    page.mouse.move(5, 5)
    assert page.locator(".cone").count() == 0


def test_numbers_are_those_of_the_map(open_page, address, seen):
    """What the page merges and saves is what Python merges, within the 16 bits of a file: of every kind and head."""
    page = open_page(address)
    for unit, side in (("words", seen.merge_words()), ("subwords", seen)):
        for kind in seen.kinds:
            place = f"view=heads&kind={kind}&layer=1&head=2&words={int(unit == 'words')}"
            page.evaluate(f"location.hash = '{place}'")
            until(page, "() => document.querySelector('.opened').textContent.startsWith('layer 1, head 2')")
            rows = downloaded_rows(page, "Weights as CSV")
            values = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
            np.testing.assert_allclose(values, side.average(kind, layer=1, heads=2), atol=1e-4)
            np.testing.assert_allclose(values.sum(axis=1), 1, atol=3e-4)
            assert [row[0] for row in rows[1:]] == plain(side.labels(kind)[0], unit)


def plain(labels: tuple[str, ...], unit: str) -> list[str]:
    return [label.replace("▁", "") or label if unit == "subwords" else label for label in labels]


def test_a_head_is_opened_by_keyboard_and_the_address_says_so(open_page, address):
    page = open_page(address)
    page.locator(".thumbnail").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    until(page, "() => document.querySelector('.opened').textContent.startsWith('layer 1, head 2')")
    assert "layer=1&head=2" in page.evaluate("location.hash")
    until(page, "() => document.querySelector('.stage-title').textContent.endsWith('layer 1, head 2')")
    page.locator(".picture canvas").first.focus()
    page.keyboard.press("ArrowRight")
    assert "to" in page.locator(".picture .reading").inner_text()
    shared = open_page(page.url)
    until(shared, "() => document.querySelector('.opened').textContent.startsWith('layer 1, head 2')")


def test_tokens_are_walked_and_released_by_keyboard(open_page, address):
    page = open_page(address)
    tokens(page, 1).first.focus()
    page.keyboard.press("Tab")
    tokens(page, 1).first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert tokens(page, 1).nth(1).get_attribute("aria-pressed") == "true"
    assert "row=1" in page.evaluate("location.hash")
    page.keyboard.press("Escape")
    assert tokens(page, 1).nth(1).get_attribute("aria-pressed") == "false"


def test_steps_show_candidates_and_the_look_up(open_page, explained):
    page = open_page(f"{explained}#view=steps&step=1")
    assert page.locator(".candidate").count() >= 10
    page.wait_for_selector(".numbers tbody tr")
    shares = [float(text) for text in page.locator(".numbers .share .value").all_inner_texts()]
    assert sum(shares) == pytest.approx(1, abs=0.05)
    rows = downloaded_rows(page, "This view as CSV")[-len(shares) :]
    assert [float(row[4]) for row in rows] == shares, "below their heading, softmax"
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowRight")
    assert "step=2" in page.evaluate("location.hash")


def test_the_beam_tells_why_a_branch_ended(open_page, explained):
    page = open_page(f"{explained}#view=beam")
    assert page.locator(".node.best").count() >= 2
    page.locator(".node.outscored, .node.pruned").first.focus()
    assert any(word in page.locator("#view-beam .reading").inner_text() for word in ("outscored", "pruned"))


def test_the_tour_drives_the_same_page(open_page, accessible, address):
    page = open_page(address)
    page.get_by_role("button", name="Tour").click()
    titles = []
    for _ in range(7):
        titles.append(page.locator(".tour h2").inner_text())
        if len(titles) == 4:
            assert f"does “{tokens(page, 0).nth(2).inner_text().strip()}” attend" in page.locator(".asks").inner_text()
        page.locator(".tour .primary").click()
    assert len(set(titles)) == 7
    assert page.locator(".tour").is_hidden()
    page.evaluate("location.hash = 'tour=6&kind=decoder_self'")
    page.wait_for_selector(".tour:visible")
    accessible(page)


def test_the_tour_asks_before_it_shows(open_page, address, seen):
    page = open_page(f"{address}#words=0")
    page.get_by_role("button", name="Tour").click()
    page.get_by_role("button", name="Next").click()
    assert page.locator(".stage .lines").evaluate("each => getComputedStyle(each).visibility") == "hidden"
    assert page.locator(".cone").count() == 0
    row = seen.average("cross")[1]
    wrong = int(row.argmin())
    tokens(page, 0).nth(wrong).click()
    told = page.locator(".asks").inner_text()
    assert told.startswith("You chose: ")
    assert f"gets {row[wrong]:.2f}" in told
    assert f"gets {row.max():.2f}, the most" in told
    assert page.locator(".cone").count() > 0


def test_paper_is_light(open_page, address):
    page = open_page(address)
    dark = page.locator(".picture canvas").first.screenshot()
    page.emulate_media(media="print")
    until(page, "() => document.documentElement.dataset.theme === 'light'")
    assert page.locator(".views").is_hidden()
    page.wait_for_timeout(200)
    assert page.locator(".picture canvas").first.screenshot() != dark
    page.emulate_media(media="screen")
    until(page, "() => document.documentElement.dataset.theme === 'dark'")


@pytest.mark.smoke
def test_pictures_and_the_document_are_saved(open_page, address, seen):
    page = open_page(address)
    starts = {
        "Stage as SVG": b"<svg",
        "Stage as PNG": b"\x89PNG",
        "This view as CSV": b'"","',
        "Everything as JSON": b"{",
    }
    for name, start in starts.items():
        content = downloaded(page, name)
        assert content.startswith(start), name
    document = json.loads(content)
    np.testing.assert_allclose(array(document["matrices"]["cross"]), seen.cross, atol=2e-5)


def test_a_notebook_shows_it_in_a_frame_without_an_address(open_page, seen, tmp_path):
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>a</title>{seen._repr_html_()}", encoding="utf-8")
    page = open_page((tmp_path / "notebook.html").as_uri())
    frame = page.frame_locator("iframe")
    frame.locator(".tokens").nth(1).locator("button").nth(1).click()
    assert frame.locator(".cone").count() > 0


@pytest.mark.parametrize(
    ("left_out", "shown"),
    [
        ({"encoder": (0, 0), "cross": (0, 0)}, "Target to target"),
        ({"decoder": (0, 0), "cross": (0, 0)}, "Source to source"),
        ({"decoder": (0, 0), "encoder": (0, 0), "cross": (0, 0)}, ""),
    ],
)
def test_models_with_less_attention_show_what_they_have(open_page, tmp_path, left_out, shown):
    random_map(SEED, **left_out).to_html(tmp_path / "less.html")
    page = open_page((tmp_path / "less.html").as_uri())
    page.get_by_text("Point at a word of the lower line" if shown else "no attention to show").wait_for()
    assert page.locator(".choices button").all_inner_texts() == [shown] * bool(shown)
    page.locator(".menu summary").click()
    assert page.get_by_role("button", name="Weights as CSV").count() == bool(shown)


def test_what_heads_do_over_a_corpus_is_beside_what_they_do_here(open_page, seen, tmp_path):
    kind = page_document(seen)["kinds"][0]
    heads = [Role("same", 0.5 + head / 100, 0.1) for head in range(kind["heads"])]
    roles = Roles(sentences=150, attentions={f"decoder.{layer}.cross": heads for layer in range(kind["layers"])})
    for name, values in (("encoder.{}.self", seen.encoder_self), ("decoder.{}.self", seen.decoder_self)):
        each = [Role("spread", 1.0, 0.0)] * values.shape[1]
        roles.attentions.update({name.format(layer): each for layer in range(len(values))})
    document = page_document(seen, every_head=True, roles=roles)
    document["kinds"][0]["descriptions"][0][0]["role"] = "next"
    (tmp_path / "corpus.html").write_text(standalone_page(document), encoding="utf-8")
    page = open_page((tmp_path / "corpus.html").as_uri())
    first = page.locator(".thumbnail").first
    sizes = [each.bounding_box()["width"] for each in page.locator(".thumbnail canvas").all()]
    assert min(sizes) > 0.9 * max(sizes), "of whatever role"
    assert first.locator(".says").all_inner_texts() == [kind["descriptions"][0][0]["text"], "same token 0.50"]
    assert first.get_attribute("aria-label").endswith("; same token 0.50 ± 0.10 over the corpus")
    assert "the mean over 150 sentences" in page.locator(".heads").inner_text()
    first.click()
    until(page, "() => document.querySelector('.heads').textContent.includes('150 sentences: same token 0.50 ± 0.10')")


def test_motion_stops_where_it_is_not_wanted(open_page, address):
    page = open_page(address, reduced_motion="reduce")
    assert tokens(page, 0).first.evaluate("node => getComputedStyle(node).transitionDuration") == "0s"


FLIPS = """() => {
  globalThis.flips = [];
  const board = document.querySelector(".board");
  new MutationObserver((changes) => {
    globalThis.flips.push(...changes.map(({ oldValue }) => oldValue).filter((was) => was !== board.className));
  }).observe(board, { attributeFilter: ["class"], attributeOldValue: true });
}"""
"""Notes in `flips` each arrangement of the tokens that was tried and given up."""


def test_a_hundred_tokens_are_drawn_as_far_as_they_are_looked_at(open_page, tmp_path):
    """Counted: lines on the stage and canvases; a time would depend on the machine."""
    random, size = np.random.default_rng(SEED), 100
    words = tuple(range(size))
    pieces = tuple(f"▁word{number % 17}" for number in range(size - 1))
    big = AttentionMap(
        (*pieces, "</s>"), (*pieces, "</s>"), ("<s>", *pieces), words, words, words,
        encoder_self=softmax(random.normal(size=(6, 8, size, size))),
        decoder_self=softmax(np.where(np.tri(size) > 0, random.normal(size=(6, 8, size, size)), -np.inf)),
        cross=softmax(4 * random.normal(size=(6, 8, size, size))),
    )  # fmt: skip
    big.to_html(tmp_path / "big.html")
    page = open_page((tmp_path / "big.html").as_uri())
    page.wait_for_selector(".thumbnail")
    assert page.locator(".thumbnail canvas").count() == 48
    page.locator(".thumbnail").nth(11).click()
    until(page, "() => document.querySelector('.opened').textContent.startsWith('layer 1, head 3')")
    assert 0 < page.locator(".line").count() <= 240
    assert page.locator(".board.wrapped").bounding_box()["height"] < 700, "lines of text, not columns of 100 tokens"
    first = page.evaluate_handle("document.querySelector('.token')")
    tokens(page, 1).nth(60).hover()
    assert page.locator(".cone").count() <= 24
    assert page.evaluate("node => node === document.querySelector('.token')", first), "tokens stay as they are"
    until(page, "() => document.querySelectorAll('.thumbnail canvas[data-drawn]').length === 48")
    kept = page.evaluate_handle("document.querySelector('.thumbnail canvas')")
    # A click and what follows at once: the lines of tokens that stay, the few thumbnails of a frame.
    at_once = """async (kind) => {
      document.querySelector(`[data-kind=${kind}]`).click();
      await new Promise((done) => setTimeout(done, 0));
      return document.querySelectorAll(".thumbnail canvas[data-drawn]").length;
    }"""
    page.evaluate(FLIPS)
    assert page.evaluate(at_once, "encoder_self") <= 16
    assert page.evaluate("node => node === document.querySelector('.token')", first), "the same source, the same line"
    assert page.evaluate("globalThis.flips") == [], "where 100 words cannot fit, side by side is not tried"
    until(page, "() => document.querySelectorAll('.thumbnail canvas[data-drawn]').length === 48")
    assert page.evaluate(at_once, "cross") == 48, "what was drawn once is there again"
    assert page.evaluate("node => node === document.querySelector('.thumbnail canvas')", kept)
