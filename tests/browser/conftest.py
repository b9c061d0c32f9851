"""A real browser: Chromium through Playwright. Without `make test-browser`, which asks for it, nothing runs here."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.helpers import TEXT, rest, untrained
from tests.serving.helpers import Running, running

BROWSER = os.environ.get("LIMELIGHT_BROWSER", "")
collect_ignore_glob = [] if BROWSER else ["test_*.py"]

SIZES = {"phone": (360, 780), "laptop": (1366, 860), "projector": (1920, 1080)}
PICTURES = Path(os.environ.get("LIMELIGHT_PICTURES", ""))
"""Where screenshots are written, if it is named."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser. Raises where there is none: a test that cannot run is no test that passes."""
    from playwright.sync_api import sync_playwright

    path = shutil.which(BROWSER)
    assert path is not None, f"there is no {BROWSER!r}: install it (Debian: apt-get install chromium)"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Any]:
    """Open an address at a size; afterwards the console must have been silent and nothing fetched from elsewhere."""
    opened, troubles = [], []

    def open_(address: str, size: str = "laptop", *, allowed: str = "", **options: Any) -> Any:
        width, height = SIZES[size]
        given = {"color_scheme": "dark", **options}
        context = chromium.new_context(viewport={"width": width, "height": height}, **given)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: troubles.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: troubles.append(f"error: {error}"))
        page.on(
            "request",
            lambda asked: (
                None
                if asked.url.startswith(("file:", "data:", "blob:", "about:", *([allowed] if allowed else [])))
                else troubles.append(f"asked for {asked.url}")
            ),
        )
        page.goto(address)
        opened.append(context)
        return page

    yield open_
    for context in opened:
        context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def axe() -> str:
    """The accessibility check, as `make test-browser` has fetched it."""
    return Path(os.environ["LIMELIGHT_AXE"]).read_text(encoding="utf-8")


@pytest.fixture
def accessible(axe: str) -> Any:
    """Raises where axe finds a violation on a page, with the elements."""

    def check(page: Any) -> None:
        page.evaluate(axe)  # the policy of the page permits no script of others: this one comes with the browser's hand
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        told = [
            f"{each['id']}: {each['help']}: {[node['html'][:160] for node in each['nodes'][:3]]}"
            for each in found["violations"]
        ]
        assert told == [], json.dumps(told, indent=1, ensure_ascii=False)
        assert len(found["passes"]) > 10, "axe has looked at something"

    return check


@pytest.fixture
def picture() -> Any:
    """Write a screenshot, where somebody wants to look at it."""

    def take(page: Any, name: str) -> None:
        if PICTURES.name:
            PICTURES.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=str(PICTURES / f"{name}.png"), full_page=True)

    return take


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    """A service with a model that has learned nothing; modules with other models have their own."""
    with running({"untrained": untrained()}) as found:
        yield found


@pytest.fixture
def visit(open_page: Any, service: Running) -> Any:
    """Open the service's page with a translation, with what the address says."""

    def open_(fragment: str = "", size: str = "laptop", **options: Any) -> Any:
        place = f"{service.url}/#model=untrained&from=en&to=de&text={TEXT}&{fragment}"
        page = open_page(place, size, allowed=service.url, **options)
        rest(page)
        return page

    return open_
