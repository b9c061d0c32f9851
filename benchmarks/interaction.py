"""How long the page takes to answer at 100 x 100 tokens with 6 layers of 8 heads, in Chromium.

    python -m benchmarks.interaction            (after `make test-browser` has set up .venv; Chromium as there)

A map of random weights, with random measures for the other views, is saved as one file and opened. Each interaction is
a real movement, click or key of the browser, repeated; the time is that of the Event Timing API, from the event to the
frame that shows its effect, in steps of 8 ms (below 16 ms the browser reports nothing: those count as 16). The column
`main thread` is what the page's thread computed from the event until it was idle again, thumbnails included: other work
on the machine changes it less.
"""

import os
import re
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from limelight.inspection import AttentionMap
from limelight.inspection.page_data import packed, page_document
from limelight.inspection.standalone import standalone_page

TOKENS, LAYERS, HEADS, SEED = 100, 6, 8, 11
AIM = 100
"""Milliseconds from an event to the frame that shows its effect."""

LEAST = 16
"""Milliseconds below which the Event Timing API reports nothing."""

WATCH = """() => {
  window.noted = [];
  const note = (list) => list.getEntries().forEach((each) => window.noted.push(each.duration));
  new PerformanceObserver(note).observe({ type: "event", durationThreshold: 16 });
}"""

Action = Callable[[Any, int], None]


def main(
    repeats: Annotated[int, typer.Option(help="Of each interaction.", min=5)] = 9,
    browser: Annotated[str, typer.Option(help="Chromium.")] = "chromium",
    results: Annotated[Path, typer.Option(help="Folder for interaction.json.")] = RESULTS,
) -> None:
    """Measure, print, write down."""
    load = os.getloadavg()[0]
    with opened(browser) as page:
        found = {name: measured(page, action, repeats) for name, action in interactions().items()}
    rows: list[tuple[Any, ...]] = [(name, *times.values(), f"<= {AIM}") for name, times in found.items()]
    printed = table(["interaction, ms", "median", "largest", "main thread", "aim"], rows)
    result: dict[str, Any] = {
        "benchmark": "the page at 100 x 100 tokens, 6 layers of 8 heads",
        "command": f"python -m benchmarks.interaction --repeats {repeats}",
        "machine": {**describe_machine(), "load": load},
        "milliseconds": found,
        "table": printed,
    }
    write_result("interaction", result, folder=results)
    print(printed)


def large_map() -> AttentionMap:
    """Random weights of every kind, words of two subwords."""
    random = np.random.default_rng(SEED)

    def weights(factor: float, *, causal: bool = False) -> Any:
        scores = factor * random.normal(size=(LAYERS, HEADS, TOKENS, TOKENS))
        scores = np.where(np.tri(TOKENS) > 0, scores, -np.inf) if causal else scores
        exponents = np.exp(scores - scores.max(-1, keepdims=True))
        return (exponents / exponents.sum(-1, keepdims=True)).astype(np.float32)

    pieces = tuple(f"{'' if number % 2 else '▁'}part{number}" for number in range(TOKENS - 1))
    words = tuple(number // 2 for number in range(TOKENS - 1))
    ended = (*words, words[-1] + 1)
    return AttentionMap(
        (*pieces, "</s>"), (*pieces, "</s>"), ("<s>", *pieces), ended, ended, (0, *(word + 1 for word in words)),
        encoder_self=weights(1), decoder_self=weights(1, causal=True), cross=weights(4),
    )  # fmt: skip


def large_document() -> dict[str, Any]:
    """The document of that map, with measures, layers and patching of as many tokens, and a translation."""
    random, seen = np.random.default_rng(SEED), large_map()
    document = page_document(seen, every_head=True)
    norms = packed(random.random((LAYERS, HEADS, TOKENS), np.float32))
    shares = packed(random.random((TOKENS, TOKENS), np.float32) / TOKENS)
    chosen = {"id": 5, "text": "part", "begins": True, "probability": 0.5, "log_probability": -0.7, "chosen": 0.5}
    effects = {"positions": list(seen.source_pieces), "effects": random.random((LAYERS + 1, TOKENS)).tolist()}
    text = " ".join(seen.target_pieces)
    document["translation"] = {
        "text": text, "ids": [5] * (TOKENS - 1), "log_probability": -9.0, "prefix": [], "off": {}, "temperature": {},
    }  # fmt: skip
    document["measures"] = {
        "erasure": packed(random.random((TOKENS, TOKENS // 2), np.float32)),
        "contributions": {kind: {"norms": norms, "mean": packed(seen.average(kind))} for kind in seen.kinds},
        "shares": {"source": shares, "prefix": shares},
    }
    depths = range(LAYERS + 1)
    document["layers"] = {
        "encoder": [{"text": f"{text} {depth}", "log_probability": -9.0, "finished": True} for depth in depths],
        "decoder": [[chosen] * TOKENS for _ in depths],
    }
    document["patching"] = {
        "texts": ["a", "b"], "translations": ["a", "b"], "tokens": ["a", "b"], "difference": [1.0, -1.0],
        "encoder": effects, "decoder": effects,
    }  # fmt: skip
    return document


@contextmanager
def opened(browser: str) -> Iterator[Any]:
    """The page of the large map, at the size of a laptop, with all that is drawn at first."""
    from playwright.sync_api import sync_playwright

    path = shutil.which(browser)
    if path is None:
        raise SystemExit(f"there is no {browser!r}: install it (Debian: apt-get install chromium), or --browser PATH")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        (Path(folder) / "large.html").write_text(standalone_page(large_document()), encoding="utf-8")
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = started.new_page(viewport={"width": 1366, "height": 860})
        page.goto(f"{(Path(folder) / 'large.html').as_uri()}#words=0")
        page.wait_for_timeout(3000)
        page.evaluate(WATCH)
        yield page
        started.close()


def interactions() -> dict[str, Action]:
    """What is done, by name: each time at another place."""

    def click(selector: str) -> Action:
        return lambda page, turn: page.locator(selector).nth(turn).click()

    def cell(page: Any, turn: int) -> None:
        box = page.locator(".picture canvas").first.bounding_box()
        page.mouse.move(box["x"] + 200 + 20 * turn, box["y"] + 300)

    def kind(page: Any, turn: int) -> None:
        there = page.locator("[data-kind]")
        there.nth((turn + 1) % there.count()).click()

    measures = ("Show contributions", "Show weights")

    def layer(page: Any, turn: int) -> None:
        if turn == 0:
            page.get_by_role("tab", name="Layers").click()
        page.get_by_label("Encoder layer").press("ArrowLeft" if turn % 2 == 0 else "ArrowRight")

    return {
        "point at a token": lambda page, turn: page.locator(".tokens").nth(1).locator("button").nth(3 * turn).hover(),
        "pin a token": lambda page, turn: page.locator(".tokens").nth(1).locator("button").nth(3 * turn).click(),
        "open a head": click(".thumbnail"),
        "next head by keyboard": lambda page, turn: page.keyboard.press("ArrowRight"),
        "point at a cell": cell,
        "another kind of attention": kind,
        "words or subwords": lambda page, turn: page.get_by_role("button", name=re.compile("Show (sub)?words")).click(),
        "open Influence, Layers, Patching": lambda page, turn: page.get_by_role("tab").nth(1 + turn % 3).click(),
        "weights or contributions": lambda page, turn: page.get_by_role("button", name=measures[turn % 2]).click(),
        "layer by the slider": layer,
        "theme": lambda page, turn: page.get_by_role("button", name="theme").click(),
        "open or leave the tour": lambda page, turn: (
            page.get_by_role("button", name="Tour").click()
            if turn % 2 == 0
            else page.get_by_role("button", name="Leave").click()
        ),
    }


def measured(page: Any, action: Action, repeats: int) -> dict[str, float]:
    """Median and largest time of an interaction, and the median of what the page's thread computed."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    times, computed = [], []
    for turn in range(repeats):
        page.evaluate("() => { window.noted = []; }")
        page.wait_for_timeout(300)
        before = _computed(session)
        action(page, turn)
        page.wait_for_timeout(900)
        computed.append(_computed(session) - before)
        times.append(max([LEAST, *page.evaluate("window.noted")]))
    session.detach()
    return {
        "median": statistics.median(times),
        "largest": max(times),
        "main_thread": round(statistics.median(computed)),
    }


def _computed(session: Any) -> float:
    """Milliseconds that the page's thread has computed."""
    found = session.send("Performance.getMetrics")["metrics"]
    return next(1000 * each["value"] for each in found if each["name"] == "TaskDuration")


if __name__ == "__main__":
    typer.run(main)
