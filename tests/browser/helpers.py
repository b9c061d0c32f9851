"""What the browser's tests share: an untrained model with everything to show, and where things are on the page."""

import csv
import time
from pathlib import Path
from typing import Any

import torch

from limelight.config import DecodingConfig, Direction
from limelight.pipelines.translator import Translator
from limelight.tokens import Tokenizers
from tests.inspection.fakes import Spelling
from tests.models.helpers import make_model, transformer

TEXT = "abcdef"
ON_STAGE = """() => [...(document.querySelectorAll('.tokens')[1]?.querySelectorAll('.word') ?? [])]
    .map((word) => word.textContent.trim()).join(' ').trim()"""
"""The translation on the stage: what the model's search gives, whatever the guards of the service do."""
VIEWS = ("heads", "steps", "beam", "whatif", "training", "models", "filled", "written")


def untrained(**config: Any) -> Translator:
    """Two layers of three heads on each side, always the same."""
    torch.manual_seed(3)
    model = make_model(transformer(), Spelling.size, Spelling.size).eval()
    with torch.no_grad():  # with opinions, so that a head that is off changes what is said
        for weight in model.parameters():
            weight.mul_(2.0 if weight.dim() > 1 else 1)
    decoding = DecodingConfig(beam_size=3, max_length_extra=4, max_length_factor=1.0)
    return Translator(model, Tokenizers(Spelling(), Spelling()), decoding, directions=[Direction("en", "de")], **config)


def tokens(page: Any, line: int) -> Any:
    """The tokens of the upper line (0), which are attended to, or of the lower line (1), which attend."""
    return page.locator(".tokens").nth(line).locator("button")


def until(page: Any, expression: str, argument: Any = None, *, seconds: float = 60) -> None:
    """Wait for an expression of the page to hold. Playwright's own way evaluates a string, which the policy forbids."""
    last = time.monotonic() + seconds
    while not page.evaluate(expression, argument):
        assert time.monotonic() < last, f"after {seconds} s it does not hold: {expression}"
        page.wait_for_timeout(30)


def downloaded(page: Any, name: str) -> bytes:
    """What an entry of the menu saves."""
    page.locator(".menu summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return Path(download.value.path()).read_bytes()


def downloaded_rows(page: Any, name: str) -> list[list[str]]:
    """The lines of a table that an entry of the menu saves."""
    return list(csv.reader(downloaded(page, name).decode().splitlines()))


def is_examined(view: str, theme: str, size: str) -> bool:
    """Whether the accessibility of a view is examined in this theme at this size: axe takes seconds. Each view is, in
    both themes and at both sizes; which theme at which size alternates from view to view."""
    return (VIEWS.index(view) % 2 == 0) == ((theme == "dark") == (size == "phone"))


def rest(page: Any) -> None:
    """Wait until a served page has its answer, and nothing more is asked."""
    until(page, "() => document.querySelector('main')?.getAttribute('aria-busy') === 'false'")
