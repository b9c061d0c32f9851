"""Training, models side by side, text that streams, text that is written on and filled in."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limelight
from limelight.config import RecurrentConfig
from limelight.pipelines.explain import Question, explain
from limelight.serving.links import Loading
from limelight.storage.layout import find_snapshots
from tests.browser.conftest import SIZES
from tests.browser.helpers import downloaded, downloaded_rows, is_examined, rest, until
from tests.serving.helpers import Running, running
from tests.training.helpers import go, tiny_run
from tests.training.readers import masked_run
from tests.training.texts import text_run

TEXT = "one two three"
EMPTY = ["no", "words"]  # what the page says of an empty translation
NAMES = ("multi-head", "bahdanau", "luong")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three translators, the first with snapshots; a language model and a masked model."""
    folder = tmp_path_factory.mktemp("runs")
    recurrent = {"embedding": 7, "hidden": 8, "score_size": 5}
    models = {
        "bahdanau": RecurrentConfig(wiring="bahdanau", score="additive", **recurrent),
        "luong": RecurrentConfig(cell="lstm", wiring="luong", score="general", **recurrent),
    }
    go(tiny_run(folder / "pairs", max_steps=6, keep_snapshots=3, validate_every=2), folder / "multi-head")
    for name, model in models.items():
        go(tiny_run(folder / "pairs", model, max_steps=2), folder / name)
    go(text_run(folder / "text", max_steps=2), folder / "writer")
    go(masked_run(folder / "masks", max_steps=2), folder / "filler")
    return folder


@pytest.fixture(scope="module")
def service(runs: Path) -> Iterator[Running]:
    names = (*NAMES, "writer", "filler")
    with running({name: Loading(str(runs / name), device="cpu", name=name) for name in names}) as found:
        yield found


@pytest.fixture
def visit(open_page: Any, service: Running) -> Any:
    def open_(fragment: str, size: str = "laptop", **options: Any) -> Any:
        page = open_page(f"{service.url}/#{fragment}", size, allowed=service.url, **options)
        rest(page)
        return page

    return open_


def pairs(fragment: str = "", model: str = "multi-head") -> str:
    return f"model={model}&from=en&to=de&text={TEXT}&{fragment}"


def saved_weights(page: Any) -> np.ndarray:
    return np.array([[float(cell) for cell in row[1:]] for row in downloaded_rows(page, "Weights as CSV")[1:]])


def saved_page(page: Any, path: Path) -> str:
    path.write_bytes(downloaded(page, "Everything as a page"))
    return path.as_uri()


def until_row(panel: Any, expected: np.ndarray) -> None:
    """Wait until the first row of a panel's matrix, as the keyboard reads it, is this."""
    last = time.monotonic() + 60
    canvas, reading = panel.locator("canvas").first, panel.locator(".reading")
    canvas.focus()
    while True:
        for _ in expected:
            canvas.press("ArrowLeft")
        canvas.press("ArrowUp")
        row = []
        for column in range(len(expected)):
            if column:
                canvas.press("ArrowRight")
            row.append(float(reading.inner_text().rsplit(" ", 1)[1]))
        if np.allclose(row, expected, atol=0.006):
            return
        assert time.monotonic() < last, (row, expected)


def test_each_snapshot_is_what_its_folder_says(visit, runs):
    page = visit(pairs("view=training"))
    slider = page.get_by_role("slider", name="Snapshot")
    assert slider.get_attribute("aria-valuetext") == "the model that is served"
    assert page.locator(".curve .dot").count() >= 4, "loss and BLEU of each validation"
    snapshots = find_snapshots(runs / "multi-head")
    assert list(snapshots) == [2, 4, 6]
    for update in reversed(snapshots):
        slider.press("ArrowLeft")
        rest(page)
        assert f"snapshot={update}" in page.url
        assert f"update {update}" in page.locator(".model").inner_text()
        translator = limelight.load(snapshots[update])
        seen = translator.attention(TEXT)
        assert page.locator("#view-training .sentence").inner_text().split() == (seen.target_text.split() or EMPTY)
        np.testing.assert_allclose(saved_weights(page), seen.merge_words().average("cross"), atol=2e-6)


def test_a_link_that_names_the_model_alone_keeps_what_else_it_says(visit):
    page = visit(f"model=luong&text={TEXT}&view=models")
    assert "model=luong" in page.url
    assert page.locator("textarea").input_value() == TEXT
    page = visit(f"model=multi-head&text={TEXT}&view=training&snapshot=2")
    assert "update 2" in page.locator(".model").inner_text()
    assert page.locator("textarea").input_value() == TEXT
    page.evaluate("location.hash = '#text=four five'")  # in the page that is open
    until(page, "() => location.hash.includes('model=multi-head') && location.hash.includes('to=de')")
    rest(page)
    assert page.locator("select[aria-label=Direction]").input_value() == '["multi-head","en","de"]'
    page.go_back()
    until(page, "(text) => document.querySelector('textarea').value === text", TEXT)


def test_a_number_below_the_first_one_is_the_first_one(visit):
    page = visit(pairs("view=steps&step=-5"))
    assert page.locator("#view-steps .candidate").count() >= 2
    assert page.get_by_role("slider", name="Step").input_value() == "0"


def test_a_snapshot_reads_the_final_translation(visit, runs):
    page = visit(pairs("view=training&snapshot=2"))
    final = explain(limelight.load(runs / "multi-head"), Question(TEXT))["translation"]["ids"]
    page.get_by_label("Read the final translation").check()
    rest(page)
    seen = explain(limelight.load(find_snapshots(runs / "multi-head")[2]), Question(TEXT, target=tuple(final)))
    words = max(token["word"] for token in seen["sides"]["target"]["tokens"]) + 1
    assert saved_weights(page).shape[0] == words
    assert page.locator("#view-training .sentence").inner_text().split() == (
        seen["translation"]["text"].split() or EMPTY
    )


def test_a_file_has_the_snapshots_in_it(visit, open_page, tmp_path):
    page = visit(pairs("view=training&snapshot=4"))
    shown = saved_weights(page)
    alone = open_page(f"{saved_page(page, tmp_path / 'training.html')}#view=training&snapshot=4")
    alone.wait_for_selector("#view-training .curve")
    np.testing.assert_allclose(saved_weights(alone), shown, atol=1e-4)
    alone.get_by_role("slider", name="Snapshot").press("End")
    assert "snapshot" not in alone.url.partition("#")[2]


def test_models_stand_side_by_side_each_with_its_map(visit, runs, open_page, tmp_path):
    page = visit(pairs("view=models"))
    for name in NAMES:
        panel = page.get_by_role("region", name=name)
        panel.locator("canvas[aria-label*=rows]").wait_for()
        seen = limelight.load(runs / name).attention(TEXT).merge_words()
        assert panel.locator(".sentence").inner_text().split() == (seen.target_text.split() or EMPTY)
        if name == "multi-head":
            for head, value in ((None, "-1/-1"), (1, "0/1")):
                panel.get_by_role("combobox").select_option(value)
                until_row(panel, seen.average("cross", heads=head)[0])
        until_row(panel, seen.average("cross", heads=1 if name == "multi-head" else 0)[0])
    alone = open_page(f"{saved_page(page, tmp_path / 'models.html')}#view=models")
    for name in NAMES:
        alone.get_by_role("region", name=name).locator("canvas[aria-label*=rows]").wait_for()
        same = [each.get_by_role("region", name=name).locator(".sentence").inner_text() for each in (page, alone)]
        assert same[0] == same[1]


def test_text_appears_while_it_is_translated_and_the_newest_input_wins(visit, runs):
    page = visit(pairs())
    page.evaluate(
        """() => {
      const output = document.querySelector(".output");
      window.grown = [];
      const note = () => output.classList.contains("growing") && window.grown.push(output.textContent);
      new MutationObserver(note).observe(output, { childList: true, attributes: true });
      const before = window.fetch;
      window.fetch = async (path, options) => {
        const answer = await before(path, options);
        if (String(options?.body).includes("four four")) await new Promise((done) => setTimeout(done, 1500));
        return answer;
      };
    }"""
    )
    page.locator("textarea").fill("four four")
    page.wait_for_timeout(600)  # asked for by now, or about to be: either way it is late
    page.locator("textarea").fill("five six")
    rest(page)
    expected = explain(limelight.load(runs / "multi-head"), Question("five six"))["translation"]["text"]
    assert page.locator(".output").inner_text().split() == expected.split()
    assert page.evaluate("window.grown.length") > 0
    page.wait_for_timeout(2000)  # the answer that was held back has come by now, and changes nothing
    assert page.locator(".output").inner_text().split() == expected.split()
    assert "text=five" in page.url


def test_a_text_is_written_on(visit, runs):
    page = visit("model=writer&text=the sun")
    expected = limelight.load(runs / "writer").generate("the sun", max_tokens=40)[0].text
    assert page.locator(".output").inner_text().split() == ("the sun" + expected).split()
    assert page.locator(".stage-title").inner_text().startswith("Within the text")
    assert page.get_by_role("tab", name="What if").is_hidden()
    saved = page.locator(".entries button:not([hidden])").all_text_contents()
    assert "Weights as CSV" in saved
    assert "Everything as a page" not in saved
    page.locator(".thumbnail").nth(1).click()
    until(page, "() => document.querySelector('.opened').textContent.startsWith('layer 0, head 1')")
    seen = limelight.load(runs / "writer").attention("the sun" + expected)
    np.testing.assert_allclose(
        saved_weights(page), seen.merge_words().average("decoder_self", layer=0, heads=1), atol=2e-6
    )
    page.get_by_role("tab", name="Steps").click()
    assert page.locator(".candidate").count() >= 10
    page.get_by_role("tab", name="Map").click()
    until(page, "() => document.querySelectorAll('.track .plate').length > 4")
    assert page.locator(".lane").count() == len(seen.read_pieces)
    before = page.locator(".output").inner_text()
    page.get_by_role("button", name="Another one").click()
    rest(page)
    assert page.locator(".output").inner_text() != before or "seed=1" in page.url


def test_a_mask_is_filled_in(visit, runs):
    page = visit("model=filler&text=the [MASK] rises&view=filled")
    expected = limelight.load(runs / "filler").fill("the [MASK] rises", top=8)
    names = page.locator(".masks .name").all_inner_texts()
    assert names == [guess.text for guess in expected.masks[0]]
    assert page.locator(".stage .token").count() > 3
    page.get_by_role("tab", name="Map").click()
    until(page, "() => document.querySelectorAll('.track .plate').length > 2")
    page.get_by_role("tab", name="Fill in").click()
    page.locator(".masks button").nth(2).click()
    rest(page)
    assert page.locator("textarea").input_value() == f"the {names[2]} rises"
    assert page.get_by_role("tab", name="Fill in").is_hidden()


@pytest.mark.parametrize("theme", ["dark", "light"])
@pytest.mark.parametrize("view", ["training", "models", "filled", "written"])
def test_every_view_is_accessible(visit, accessible, picture, view, theme):
    fragments = {
        "training": pairs("view=training&snapshot=4"),
        "models": pairs("view=models"),
        "filled": "model=filler&text=the [MASK] rises over the [MASK]&view=filled",
        "written": "model=writer&text=the sun&view=steps",
    }
    for size in SIZES:
        page = visit(f"{fragments[view]}&theme={theme}", size)
        page.wait_for_timeout(100)
        if view == "models":
            until(page, "() => document.querySelectorAll('.models canvas[aria-label*=rows]').length === 3")
        assert page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0], "nothing sticks out"
        picture(page, f"{view}-{size}-{theme}")
        if size != "projector" and is_examined(view, theme, size):
            accessible(page)
