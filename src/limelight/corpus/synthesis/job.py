"""The job of writing a corpus: its text, its inputs, its output and its options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from limelight.config import Direction
from limelight.decoding.engine import BATCH_TOKENS
from limelight.decoding.settings import SearchOptions
from limelight.errors import UserError
from limelight.files import sha256
from limelight.text.open_text import open_text, require_lasting
from limelight.text.pair import BadLine
from limelight.text.readers import read_pairs
from limelight.text.readers.lines import scan_lines

OnBadLine = Callable[[BadLine], None]


class Input(NamedTuple):
    """A text to be translated."""

    text: str
    """Fit for a column of a .tsv file."""
    reference: str = ""
    """Its translation by a person; empty where there is none."""


class Part(NamedTuple):
    """Files that are read together."""

    files: tuple[str, ...]
    """One of plain text, or those of a corpus (see `read_pairs`)."""
    side: Literal["", "source", "target"] = ""
    """Which side of a corpus is translated, the other one being the reference; empty for plain text."""
    languages: tuple[str, str] = ("", "")
    """Of both sides of a corpus, for a file that has more (see `read_pairs`)."""


class Survey(NamedTuple):
    """What is known of the text once it has been read."""

    inputs: int
    unreadable: int
    files: dict[str, str]
    """Each file with its SHA-256."""


def survey(parts: Sequence[Part], *, skip: bool) -> Survey:
    """Read all text once: what is wrong with its last line shows before the first one is translated.

    With `skip` lines that cannot be read are counted; otherwise the first one raises `UserError`, naming file and line.
    A pipe raises it, too: the text is read several times.
    """
    files = dict.fromkeys(file for part in parts for file in part.files)
    for file in files:
        require_lasting(Path(file))
    bad: Counter[str] = Counter()
    count = sum(1 for _ in read_inputs(parts, (lambda line: bad.update([line.kind])) if skip else None))
    return Survey(count, bad.total(), {file: sha256(Path(file)) for file in files})


def read_inputs(parts: Sequence[Part], on_bad_line: OnBadLine | None = None) -> Iterator[Input]:
    """The inputs in the order of their files; without `on_bad_line` the first bad line raises `UserError`."""
    for part in parts:
        if part.side:
            for pair in read_pairs(part.files, *part.languages, on_bad_line=on_bad_line):
                text, reference = (pair.source, pair.target) if part.side == "source" else (pair.target, pair.source)
                yield Input(one_column(text), reference)
        else:
            for file in part.files:
                yield from map(Input, _read_lines(file, on_bad_line))


def one_column(text: str) -> str:
    """The text without what would end a column or a line of a .tsv file."""
    return text.replace("\t", " ").replace("\r", " ").replace("\n", " ").strip()


def _read_lines(file: str, on_bad_line: OnBadLine | None) -> Iterator[str]:
    with open_text(file) as stream:
        for line in scan_lines(stream, file):
            if isinstance(line, str):
                yield one_column(line)
            elif on_bad_line is None or line.fatal:
                raise UserError(str(line))
            else:
                on_bad_line(line)


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
