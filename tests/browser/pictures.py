"""The pictures of docs/page.md, from models that are served for them:

    python -m tests.browser.pictures docs/pictures --run multi-head=RUN --run bahdanau=RUN --run luong=RUN --text "..."

The first run has snapshots (`training.keep_snapshots`). Needs Chromium, as `make test-browser` does.
"""

import argparse
import io
import shutil
from pathlib import Path
from typing import Any

from limelight.serving.load import Loading
from tests.browser.helpers import rest
from tests.serving.helpers import running

COLORS = 256
"""Of a picture: a file is a third as large as with all that there can be."""


def save(page: Any, selector: str, path: Path) -> None:
    """One part of the page, with as many colors as it has in truth."""
    from PIL import Image

    with Image.open(io.BytesIO(page.locator(selector).screenshot())) as picture:
        picture.convert("RGB").quantize(COLORS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            path, optimize=True
        )
    print(f"{path}: {path.stat().st_size // 1024} KiB")


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--run", action="append", required=True, help="NAME=RUN, served side by side")
    parser.add_argument("--text", required=True)
    given = parser.parse_args()
    runs = dict(each.split("=", 1) for each in given.run)
    first = next(iter(runs))
    with running({name: Loading(run, device="cpu", name=name) for name, run in runs.items()}) as service:
        told = service.post("/api/v1/page/snapshots", {"model": first}).value["updates"]
        early = told[len(told) // 4]
        views = {"page-training": f"view=training&snapshot={early}", "page-models": "view=models"}
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for name, fragment in views.items():
                page = browser.new_page(viewport={"width": 1366, "height": 900})
                page.goto(f"{service.url}/#model={first}&text={given.text}&{fragment}")
                rest(page)
                page.wait_for_timeout(1500)
                save(page, "#page", given.out / f"{name}.png")
            browser.close()


if __name__ == "__main__":
    main()
