"""The pictures of docs/page.md and of the README, from models that are served for them:

    python -m tests.browser.pictures docs/pictures
    python -m tests.browser.pictures docs/pictures --models bahdanau=RUN --models luong=RUN
    python -m tests.browser.pictures docs/pictures --training RUN --text "TEXT"

The first takes those of the model in the box, the second that of several models beside it, the third that of a run with
snapshots (`training.keep_snapshots`). Needs Chromium, as `make test-browser` does.
"""

import argparse
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limelight.serving.links import Loading
from limelight.storage.layout import DEFAULT
from tests.browser.helpers import rest, tokens
from tests.serving.helpers import Running, running

TEXT = "My sister drinks a cup of tea every evening."
WIDTH, HEIGHT = 1180, 900
WAIT = 120_000
"""Milliseconds for a view, on a busy machine."""
FIRST = "multi-head"
"""The name of the model in the box beside others."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", action="append", default=[], help="NAME=RUN, beside the model in the box")
    parser.add_argument("--training", help="RUN with snapshots")
    parser.add_argument("--text", default=TEXT)
    given = parser.parse_args()
    if given.training:
        training(given.out, given.training, given.text)
    elif given.models:
        models(given.out, dict(each.split("=", 1) for each in given.models), given.text)
    else:
        boxed(given.out, given.text)


def boxed(out: Path, text: str) -> None:
    """What the model in the box says of a sentence: the stage, heads, steps, beam, what if, the tour."""
    with served({DEFAULT: DEFAULT}) as (service, browser):

        def visit(fragment: str, **size: int) -> Any:
            return opened(browser, service, f"from=en&to=de&model={DEFAULT}&text={text}&{fragment}", **size)

        page = visit("view=heads&kind=cross&layer=1&head=3&row=4")
        save(page, "#page", out / "page-heads.png")
        page = visit("view=heads")
        tokens(page, 1).nth(4).hover()
        save(page, ".stage", out / "page-stage.png")
        save(visit("view=steps&step=3&row=3"), "#view-steps", out / "page-steps.png")
        page = visit("view=map&kind=cross&layer=1&head=3&step=4")
        page.locator(".inside tbody tr").first.wait_for(timeout=WAIT)
        save(page, "#view-map", out / "page-map.png")
        save(visit("view=beam", width=1366), "#view-beam", out / "page-beam.png")
        page = visit("view=whatif")
        page.get_by_label("Source, edited").fill(text.replace("tea", "milk"))
        page.wait_for_timeout(500)
        rest(page)
        save(page, "#view-whatif", out / "page-whatif.png")
        page = visit("view=heads", width=1366)
        page.get_by_role("button", name="Tour").click()
        page.get_by_role("button", name="Next").click()
        tokens(page, 0).nth(2).click()
        page.wait_for_timeout(500)
        save(page, ".front", out / "page-tour.png")


def models(out: Path, runs: Mapping[str, str], text: str) -> None:
    with served({FIRST: DEFAULT, **runs}) as (service, browser):
        page = opened(browser, service, f"from=en&to=de&model={FIRST}&text={text}&view=models")
        page.wait_for_timeout(1500)
        save(page, "#view-models", out / "page-models.png")


def training(out: Path, run: str, text: str) -> None:
    with served({"model": run}) as (service, browser):
        told = service.post("/api/v1/page/snapshots", {"model": "model"}).value["updates"]
        page = opened(browser, service, f"model=model&text={text}&view=training&snapshot={told[len(told) // 4]}")
        page.wait_for_timeout(1500)
        save(page, "#page", out / "page-training.png")


@contextmanager
def served(models: Mapping[str, str]) -> Iterator[tuple[Running, Any]]:
    """A service with these models, by name, and a browser."""
    from playwright.sync_api import sync_playwright

    loadings = {name: Loading(run, device="cpu", name=name) for name, run in models.items()}
    with running(loadings) as service, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield service, browser
        browser.close()


def opened(browser: Any, service: Running, fragment: str, width: int = WIDTH) -> Any:
    page = browser.new_page(viewport={"width": width, "height": HEIGHT}, color_scheme="dark")
    page.set_default_timeout(WAIT)
    page.goto(f"{service.url}/#{fragment}")
    rest(page)
    page.wait_for_timeout(800)
    return page


def save(page: Any, selector: str, path: Path) -> None:
    """One part of the page."""
    from PIL import Image

    page.locator(selector).screenshot(path=str(path))
    with Image.open(path) as picture:
        picture.convert("RGB").save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
