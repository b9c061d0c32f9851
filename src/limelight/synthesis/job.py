"""The job of writing a corpus: its text, its output and its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from limelight.config import Direction
from limelight.decoding.settings import SearchOptions
from limelight.pipelines.translator import BATCH_TOKENS
from limelight.synthesis.inputs import Part

CHUNK = 1000
"""Inputs between two commits: what a kill costs. Those of a chunk are batched by length, so fewer would be slower."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Which inputs and pairs are left out."""

    max_characters: int = 2000
    """Longer inputs are."""
    max_length_ratio: float = 6.0
    """Pairs whose sides differ more in characters are."""
    skip_bad_lines: bool = False
    """Lines that cannot be read are, and counted; otherwise the first one is an error."""


@dataclass(frozen=True, slots=True)
class Job:
    """A corpus to be written.

    The text is in the source language of the model's direction, whichever side of the new corpus the model writes.
    """

    parts: tuple[Part, ...]
    output: Path
    """A `.tsv` file, compressed if its last suffix says so."""
    writes: Literal["source", "target"]
    """The side that the model writes: the target in distillation, the source in back-translation."""
    direction: Direction | None = None
    """None for a model of one direction."""
    options: SearchOptions = field(default_factory=SearchOptions)
    """Those of every search. `sampling` needs a seed: each chunk draws with one of its own, made from it."""
    choose_by: Literal["", "bleu", "chrf"] = ""
    """Of the `n_best` translations the one is taken that is most like the reference: sequence-level interpolation (Kim
    and Rush 2016, section 3.3). Empty takes the best by the model."""
    limits: Limits = Limits()
    batch_tokens: int = BATCH_TOKENS
    chunk: int = CHUNK
