"""What a new visitor wants to do with the model in the box, with the interactions counted: at most five each."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import limelight
from limelight.pipelines.explain import Question, explain
from limelight.serving.links import Loading
from limelight.storage.layout import DEFAULT
from tests.browser.helpers import ON_STAGE, rest, tokens, until
from tests.serving.helpers import Running, running

TEXT = "The small dog runs across the green grass."
MOST = 5


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running({"model": Loading(DEFAULT, device="cpu", name="model")}) as found:
        yield found


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """What Python says of the sentence that the page begins with."""
    return explain(limelight.load(), Question(TEXT, "en", "de"))


class Visitor:
    """Counts what somebody does: each click is an interaction, reading is none."""

    def __init__(self, page: Any) -> None:
        self.page, self.count = page, 0

    def click(self, found: Any) -> None:
        found.click()
        self.count += 1
        assert self.count <= MOST


@pytest.fixture
def visitor(open_page: Any, service: Running) -> Visitor:
    page = open_page(f"{service.url}/#from=en&to=de&model=model&text={TEXT}", allowed=service.url)
    rest(page)
    return Visitor(page)


def test_find_the_head_that_aligns(visitor: Visitor, document: dict[str, Any]) -> None:
    cross = next(kind for kind in document["kinds"] if kind["name"] == "cross")
    values = {
        (each["value"], layer, head)
        for layer, heads in enumerate(cross["descriptions"])
        for head, each in enumerate(heads)
        if each["role"] == "aligns"
    }
    value, layer, head = max(values)
    visitor.click(visitor.page.get_by_role("button", name=f"layer {layer}, head {head}: aligns {value:.2f}"))
    until(visitor.page, "() => /aligns/.test(document.querySelector('.opened').textContent)")
    assert visitor.page.locator(".stage-title").inner_text().endswith(f"layer {layer}, head {head}")


def test_a_wrong_ending_is_explained_and_made_right(visitor: Visitor) -> None:
    """The example of docs/lesson.md: one word is forced, and the next one gets the ending that belongs to it."""
    page = visitor.page
    page.locator("textarea").fill("The waiter brought the guests the wrong soup.")
    until(page, "() => document.querySelector('.output').textContent.includes('falsche Suppe')")
    rest(page)
    assert page.locator(".output").inner_text() == "Der Kellner brachte die Gäste die falsche Suppe."
    visitor.click(tokens(page, 1).nth(3))
    assert "“die” attends to “the”" in page.locator(".spoken").inner_text()
    visitor.click(page.get_by_role("tab", name="Steps"))
    visitor.click(page.locator("button.candidate").filter(has=page.get_by_text("den", exact=True)))
    rest(page)
    assert page.locator(".output").inner_text() == "Der Kellner brachte den Gästen die falsche Suppe."


def test_the_stored_answer_is_drawn_while_the_model_loads(open_page: Any, service: Running) -> None:
    stored = json.loads((files("limelight.box") / DEFAULT / "first-look.json").read_text(encoding="utf-8"))
    service.service.catalog.models[0].folder = DEFAULT
    page, loading = open_page("about:blank", allowed=service.url), True

    def models(route: Any) -> None:
        answer = route.fetch()
        value = answer.json()
        for each in value["models"] if loading else ():
            each.update(ready=False, directions=[])
        route.fulfill(response=answer, json=value)

    page.route("**/api/v1/models", models)
    page.goto(service.url)
    page.get_by_text("Until then the page shows a stored answer").wait_for()
    assert page.get_by_label("The model is loading").is_visible()
    assert page.evaluate(ON_STAGE) == stored["translation"]["text"]
    assert page.locator(".output").inner_text() == stored["translation"]["text"]
    assert page.locator(".lines path").count() > 5
    assert page.locator(".thumbnail").count() == stored["kinds"][0]["layers"] * stored["kinds"][0]["heads"]
    loading = False
    page.get_by_text("Until then").wait_for(state="hidden")
    rest(page)
    assert page.evaluate(ON_STAGE)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_alternatives_and_tour_are_accessible(visitor: Visitor, accessible: Any, picture: Any, theme: str) -> None:
    page = visitor.page
    page.evaluate(f"location.hash += '&theme={theme}&tour=2&row=1'")
    page.locator(".tour:visible").wait_for()
    page.locator(".others button").first.wait_for()
    assert "section 2. Four words" in page.locator(".tour").inner_text()
    picture(page, f"box-tour-{theme}")
    accessible(page)


def test_the_sections_that_the_tour_names_are_there() -> None:
    tour = (files("limelight.page") / "stations.js").read_text(encoding="utf-8")
    sections = re.findall(r'section: "([^"]+)"', tour)
    pages = [Path(__file__).parents[2] / "docs" / name for name in ("attention.md", "transformer.md")]
    headings = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert len(sections) == 7
    assert [each for each in sections if f"\n## {each}" not in headings] == []


def test_what_the_beam_would_have_said_next_is_there_to_choose(visitor: Visitor) -> None:
    page = visitor.page
    others = limelight.load().translate(TEXT, source_lang="en", target_lang="de", n_best=5).alternatives
    shown = page.locator(".others button").all_inner_texts()
    assert len(shown) == 2
    assert set(shown) <= {each.text for each in others}
    visitor.click(page.locator(".others button").first)
    rest(page)
    assert page.locator(".output").inner_text() == shown[0]
