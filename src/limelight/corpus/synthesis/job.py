"""The configuration of a synthesis job: text, inputs, output and options."""

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
    """A text to translate."""

    text: str
    """Text without tabs and line breaks, for a column of a .tsv file."""
    reference: str = ""
    """A human translation; empty if there is none."""


class Part(NamedTuple):
    """Files that are read together."""

    files: tuple[str, ...]
    """A file of plain text, or the files of a corpus (see `read_pairs`)."""
    side: Literal["", "source", "target"] = ""
    """The side of a corpus that is translated; the other is the reference. Empty for plain text."""
    languages: tuple[str, str] = ("", "")
    """Languages of both sides of a corpus, for a file that has more (see `read_pairs`)."""


class Survey(NamedTuple):
    """Statistics of the input text."""

    inputs: int
    unreadable: int
    files: dict[str, str]
    """The SHA-256 of each file."""


def survey(parts: Sequence[Part], *, skip: bool) -> Survey:
    """Read all text once, so that errors are found before any translation.

    With `skip`, unreadable lines are counted; otherwise the first one raises `UserError` with file and line. A pipe
    raises it, too, as the text is read several times.
    """
    files = dict.fromkeys(file for part in parts for file in part.files)
    for file in files:
        require_lasting(Path(file))
    bad: Counter[str] = Counter()
    count = sum(1 for _ in read_inputs(parts, (lambda line: bad.update([line.kind])) if skip else None))
    return Survey(count, bad.total(), {file: sha256(Path(file)) for file in files})


def read_inputs(parts: Sequence[Part], on_bad_line: OnBadLine | None = None) -> Iterator[Input]:
    """The inputs in the order of their files. Without `on_bad_line` the first bad line raises `UserError`."""
    for part in parts:
        if part.side:
            for pair in read_pairs(part.files, *part.languages, on_bad_line=on_bad_line):
                text, reference = (pair.source, pair.target) if part.side == "source" else (pair.target, pair.source)
                yield Input(one_column(text), reference)
        else:
            for file in part.files:
                yield from map(Input, _read_lines(file, on_bad_line))


def one_column(text: str) -> str:
    """The text with tabs and line breaks replaced by spaces, for a column of a .tsv file."""
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
"""Number of inputs between commits, which are lost when the process is killed. Inputs of a chunk are batched by length,
so smaller chunks would be slower."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits beyond which inputs and pairs are left out."""

    max_characters: int = 2000
    """Maximum characters of an input."""
    max_length_ratio: float = 6.0
    """Maximum ratio of characters of both sides."""
    skip_bad_lines: bool = False
    """Whether unreadable lines are skipped and counted; otherwise the first one is an error."""


@dataclass(frozen=True, slots=True)
class Job:
    """A corpus to write.

    The text is in the source language of the model's direction, whichever side of the new corpus the model writes.
    """

    parts: tuple[Part, ...]
    output: Path
    """A `.tsv` file, compressed according to its last suffix."""
    writes: Literal["source", "target"]
    """The side that the model writes: the target in distillation, the source in back-translation."""
    direction: Direction | None = None
    """None for a model of one direction."""
    options: SearchOptions = field(default_factory=SearchOptions)
    """Options of every search. `sampling` needs a seed, from which the seed of each chunk is derived."""
    choose_by: Literal["", "bleu", "chrf"] = ""
    """Select the one of the `n_best` translations that is most similar to the reference: sequence-level interpolation
    (Kim and Rush 2016, section 3.3). Empty selects the model's best."""
    limits: Limits = Limits()
    batch_tokens: int = BATCH_TOKENS
    chunk: int = CHUNK
