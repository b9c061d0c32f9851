"""What `limelight translate` is asked for: one job, whether it translates a text, lines, documents or a corpus."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from limelight.cli import options
from limelight.cli.arguments import argument, flag, option
from limelight.cli.models import Machine, find_models, made_with, open_translator
from limelight.cli.options import SEARCH
from limelight.cli.outcome import note
from limelight.cli.output import is_path
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Direction, RunConfig
    from limelight.formats.translation_memory import TranslationMemory
    from limelight.pipelines.translator import Translator
    from limelight.text.glossary import Glossary

CORPORA = "Many files, or one by several processes"


@dataclass(frozen=True, kw_only=True)
class Job:
    """The options of `limelight translate`."""

    inputs: options.Words = argument(
        "A file (also .gz, .xz, .zst) or text to translate. Default: standard input. Several files, and folders with "
        "--workers, are translated into a folder.",
        "FILE|TEXT",
    )
    text: str | None = option("Text to translate, even if it is a single word or the name of a file.", "TEXT")
    model: options.Words = options.MODELS
    source_lang: str = options.FROM
    target_lang: str = options.TO
    output: str | None = option("Output file, or OUT/ for many. Default: standard output.", "FILE", None, "--output -o")
    as_json: bool = options.AS_JSON_LINES
    lines: bool = flag("Translate each line as one sentence. Default: split lines into sentences.")
    no_guards: bool = flag("Do not check translations for losses (numbers, tags, loops), and do not search again.")
    no_pivot: bool = options.NO_PIVOT
    formality: str = option(
        "Form of address: formal or informal, for a model trained with it; prefer_formal or prefer_informal for any.",
        "FORM",
        "",
    )
    domain: str = option("Domain of the text, such as law, for a model trained with this tag.", "NAME", "")
    n_best: int = option("Number of translations per line, as `number ||| text ||| score`.", "N", 1, min=1)
    search: options.Search
    no_repeat_ngram: int | None = option("Forbid repeated n-grams of N tokens.", "N", panel=SEARCH, min=1)
    repetition_penalty: float | None = option(
        "Multiply the log-probability of tokens that occurred before by P.", "P", panel=SEARCH, min=1
    )
    batch_tokens: int = options.BATCH_TOKENS
    precision: options.Precision = options.PRECISION
    shortlist: bool = options.SHORTLIST
    sample: bool = options.SAMPLE
    mbr: int | None = option(
        "Draw N samples of each line and print the one that is most like the others (minimum Bayes risk with chrF).",
        "N",
        panel=options.SAMPLING,
        min=2,
        max=1000,
    )
    drawing: options.Drawing
    everything: bool = flag("In bilingual documents, also translate segments that have a translation.", "--all")
    protect: options.Words = option(
        "Regular expression of text to keep unchanged, like tags. Can be repeated.", "REGEX"
    )
    no_protect: bool = flag("Translate tags, variables and addresses like any other text.")
    glossary: Path | None = option("Terms and their required translations: two columns (.tsv, .csv).", "FILE")
    memory: Path | None = option(
        "Translation memory (TMX or other pairs): the translation of a sentence that it has is taken from it.",
        "FILE",
    )
    report: Path | None = option(
        "Write a table (TSV) of what to look at in translated documents: suspect, untranslated and unsure segments, "
        "and files that were left out.",
        "FILE",
    )
    workers: int | None = option(
        "Processes. Default: one per core for many files, and for a long file on a CPU; else 1.",
        "N",
        panel=CORPORA,
        min=1,
        max=4096,
    )
    engine: Literal["processes", "ray"] | None = option(
        "Where the workers are: [bold]processes[/bold] of this machine (default), or actors of [bold]ray[/bold].",
        "NAME",
        panel=CORPORA,
    )
    field: str | None = option(
        "Field of the text in JSONL and Parquet. Default: text, else source.", "NAME", panel=CORPORA
    )
    timeout: float | None = option(
        "End a worker that takes longer for a part (at most 1,000 lines). Default: 1800.",
        "SECONDS",
        panel=CORPORA,
        min=1,
        max=86_400,
    )
    machine: Machine

    @property
    def is_corpus(self) -> bool:
        """Whether results go into a folder, file by file. A folder without any of these options contains documents."""
        from limelight.formats.registry import DOCUMENT_SUFFIXES

        named = self.inputs or []
        is_named = any(value is not None for value in (self.engine, self.field, self.timeout))
        if is_named or len(named) != 1:
            return is_named or len(named) > 1
        if is_path(Path.is_dir, named[0]):
            return self.workers is not None
        into = self.output is not None and (self.output.endswith(("/", os.sep)) or Path(self.output).is_dir())
        return into and is_path(Path.is_file, named[0]) and Path(named[0]).suffix.lower() not in DOCUMENT_SUFFIXES

    @property
    def form(self) -> str:
        """The form of the lines."""
        return "json" if self.as_json else "n-best" if self.n_best > 1 else "text"

    @property
    def output_file(self) -> Path | None:
        """The output as a path."""
        return None if self.output is None else Path(self.output)

    @cached_property
    def text_options(self) -> dict[str, Any]:
        """The options of `Translator.translate` but for the glossary and the memory. Raises `UserError` for those that
        exclude each other."""
        if self.no_protect and self.protect:
            raise UserError(f"--no-protect and --protect {self.protect[0]} exclude each other: leave one out")
        if self.mbr is not None and (self.n_best > 1 or self.is_corpus or (self.workers or 1) > 1):
            raise UserError("--mbr: one translation of each line, by one process; leave out --n-best and --workers")
        if self.protect:
            from limelight.text.protectors import pattern

            for expression in self.protect:
                pattern(expression)
        names = ("source_lang", "target_lang", "lines", "formality", "domain", "no_repeat_ngram",
                 "repetition_penalty", "batch_tokens")  # fmt: skip
        return {
            **self.search.given(),
            **{name: getattr(self, name) for name in names},
            "n_best": self.mbr or self.n_best,
            "sampling": self.drawing.sampling(sample=self.sample or self.mbr is not None, why=options.NEEDS_SAMPLE),
            **({"guards": False} if self.no_guards else {}),
            "pivot": not self.no_pivot,
            "protect": False if self.no_protect else self.protect or None,
        }

    @cached_property
    def models(self) -> tuple[list[str], list[RunConfig]]:
        """The folders of the models, and their configurations."""
        return find_models(self.model, bundled=True)

    @property
    def direction(self) -> Direction:
        """Source and target, also from the only direction of the model; empty if there are several."""
        from limelight.config import Direction, directions_of

        directions = directions_of(self.models[1][0].data)
        source, target = directions[0] if len(directions) == 1 else ("", "")
        return Direction(self.source_lang or source, self.target_lang or target)

    @cached_property
    def translation_memory(self) -> TranslationMemory | None:
        """The memory in the direction of the job, or in all of the model that fit; None without a file.

        Raises `UserError` for a file that cannot be read, and if the direction is not known.
        """
        if self.memory is None:
            return None
        from limelight.config import directions_of, find_direction, find_pivots, fitting_directions
        from limelight.formats.translation_memory import open_memories

        named, known = self.direction.languages, directions_of(self.models[1][0].data)
        through = () if self.no_pivot or not self.target_lang else find_pivots(known)
        fitting = fitting_directions((*known, *through), *named)
        if not fitting:
            find_direction(known, *named)  # raises before an index is made
        return open_memories(self.memory, [named] if all(self.direction) else fitting, say=note)

    @cached_property
    def terms(self) -> Glossary | None:
        """The glossary. Raises `UserError` if it cannot be read."""
        from limelight.formats.glossaries import read_glossary

        return read_glossary(self.glossary, *self.direction.languages) if self.glossary else None

    def plain(self) -> dict[str, Any]:
        """The given options as plain values for JSON."""
        set_options = {name: value for name, value in self.text_options.items() if value is not None}
        return set_options | ({"sampling": asdict(set_options["sampling"])} if "sampling" in set_options else {})

    def made_of(self, device: str | None) -> dict[str, Any]:
        """What translations depend on besides the text, as plain values for JSON, with the content of files."""
        from limelight.files import sha256

        return made_with(self.models[0], device, self.precision, shortlist=self.shortlist) | {
            "options": {name: value for name, value in self.plain().items() if name != "batch_tokens"},
            "shortlist": self.shortlist,
            "glossary": sha256(self.glossary) if self.glossary else "",
            "memory": sha256(self.memory) if self.memory else "",
        }

    def translator(self, **how: bool) -> Translator:
        """The translator; see `open_translator`."""
        return open_translator(self.models[0], self.machine, self.precision, shortlist=self.shortlist, **how)
