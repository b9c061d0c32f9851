"""`limelight fill`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from limelight.cli import options
from limelight.cli.input import greet, lines_of
from limelight.cli.models import Machine, find_models, open_mask_filler
from limelight.cli.output import lines_to
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.pipelines.mask_filler import Filled

EXAMPLES = """
[bold]Examples[/bold]
  limelight fill --model runs/captions "A man is [MASK] a ball."
  limelight fill --model runs/captions "A [MASK] on the [MASK]." --top 3
  limelight fill --model runs/captions --json < masked.txt > filled.jsonl
"""
WITH_LESS_MEMORY = "Give a shorter text"


def fill(
    text: options.MaskedText = None,
    model: options.OneModel = None,
    top: options.Top = 5,
    as_json: options.AsJsonLines = False,
    output: options.Output = None,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Predict the token at each [MASK] of a text."""
    folders, _ = find_models(model)
    texts = lines_of(None) if text is None else iter([text])
    with lines_to(output) as write:
        filler = open_mask_filler(folders, Machine(device, threads))
        if text is None:
            greet(None)
        for number, each in enumerate(texts, start=1):
            try:
                filled = filler.fill(each, top=top)
            except UserError as error:
                raise UserError(f"line {number}: {error}" if text is None else str(error)) from None
            for line in [json.dumps(asdict(filled), ensure_ascii=False)] if as_json else _shown(filled):
                write(line)


def _shown(filled: Filled) -> Iterator[str]:
    """A line for each mask, then the text with the best predictions."""
    for number, guesses in enumerate(filled.masks, start=1):
        yield f"[MASK] {number}: " + "  ".join(f"{guess.text} {guess.probability:.4f}" for guess in guesses)
    yield filled.text
