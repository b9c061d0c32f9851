"""What `limelight translate` is asked for: one job, whether it translates a text, lines, documents or a corpus."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from limelight.cli import options
from limelight.cli.arguments import argument, number, option
from limelight.cli.models import Machine, find_models, made_with, open_translator
from limelight.cli.outcome import note
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import RunConfig
    from limelight.formats.translation_memory import TranslationMemory
    from limelight.pipelines.translator import Translator
    from limelight.text.glossary import Glossary

CORPORA, SEARCH = "Many files, or one by several processes", options.SEARCH


@dataclass(frozen=True, kw_only=True)
class Job:
    """The options of `limelight translate`."""

    inputs: Annotated[
        list[str] | None,
        argument(
            "A file (also .gz, .xz, .zst) or text to translate. Default: standard input. Several files, and folders "
            "with --workers, are translated into a folder.",
            "FILE|TEXT",
        ),
    ] = None
    text: Annotated[
        str | None, option("--text", "Text to translate, even if it is a single word or the name of a file.", "TEXT")
    ] = None
    model: options.Models = None
    source_lang: options.FromLanguage = ""
    target_lang: options.ToLanguage = ""
    output: Annotated[
        str | None, option("--output -o", "Output file, or OUT/ for many. Default: standard output.", "FILE")
    ] = None
    as_json: options.AsJsonLines = False
    lines: Annotated[
        bool, option("--lines", "Translate each line as one sentence. Default: split lines into sentences.")
    ] = False
    no_guards: Annotated[
        bool, option("--no-guards", "Return the result of the first search: no checks, no second search.")
    ] = False
    no_pivot: options.NoPivot = False
    formality: Annotated[
        str,
        option(
            "--formality",
            "Form of address, for a model trained with it: formal or informal; prefer_formal and so on: if it is.",
            "FORM",
        ),
    ] = ""
    domain: Annotated[str, option("--domain", "Domain of the text, for a model trained with its tag.", "NAME")] = ""
    n_best: Annotated[
        int,
        option("--n-best", "Number of translations per line, as `number ||| text ||| score`.", "N", number(int, 1)),
    ] = 1
    search: options.Search
    no_repeat_ngram: Annotated[
        int | None,
        option("--no-repeat-ngram", "Forbid repeated n-grams of N tokens.", "N", number(int, 1), panel=SEARCH),
    ] = None
    repetition_penalty: Annotated[
        float | None,
        option(
            "--repetition-penalty",
            "Multiply the log-probability of tokens that occurred before by P.",
            "P",
            number(float, 1),
            panel=SEARCH,
        ),
    ] = None
    must_include: Annotated[
        list[str] | None,
        option(
            "--must-include",
            "Phrase that each translation has to contain; 'lamp|lamps': in one of these forms. Can be repeated.",
            "PHRASE",
            panel=SEARCH,
        ),
    ] = None
    must_not_include: Annotated[
        list[str] | None,
        option(
            "--must-not-include", "Phrase that no translation may contain. Can be repeated.", "PHRASE", panel=SEARCH
        ),
    ] = None
    batch_tokens: options.BatchTokens = 16384
    precision: options.Precision = None
    shortlist: options.Shortlisted = False
    sample: options.Sample = False
    drawing: options.Drawing
    everything: Annotated[
        bool, option("--all", "In bilingual documents, also translate segments that have a translation.")
    ] = False
    protect: Annotated[
        list[str] | None,
        option("--protect", "Regular expression of text to keep unchanged, like tags. Can be repeated.", "REGEX"),
    ] = None
    no_protect: Annotated[
        bool, option("--no-protect", "Translate tags, variables and addresses like any other text.")
    ] = False
    glossary: Annotated[
        Path | None,
        option("--glossary", "Terms and their required translations: two columns (.tsv, .csv), or .tbx.", "FILE"),
    ] = None
    memory: Annotated[
        Path | None,
        option(
            "--memory",
            "Translation memory: TMX, or another file of pairs. Its segments are reused for the same source.",
            "FILE",
        ),
    ] = None
    report: Annotated[
        Path | None,
        option(
            "--report",
            "Write a table (TSV) of what to look at in translated documents: suspect, untranslated and unsure "
            "segments, and files that were left out.",
            "FILE",
        ),
    ] = None
    workers: Annotated[
        int | None,
        option(
            "--workers",
            "Processes. Default: one per core for many files, and for a long file on a CPU; else 1.",
            "N",
            number(int, 1, 4096),
            panel=CORPORA,
        ),
    ] = None
    engine: Annotated[
        Literal["processes", "ray"] | None,
        option(
            "--engine",
            "Where the workers are: [bold]processes[/bold] of this machine (default), or actors of [bold]ray[/bold].",
            "NAME",
            panel=CORPORA,
        ),
    ] = None
    shard: Annotated[
        str | None,
        option("--shard", "Translate only the I-th of every N files, for several machines.", "I/N", panel=CORPORA),
    ] = None
    field: Annotated[
        str | None,
        option("--field", "Field of the text in JSONL and Parquet. Default: text, else source.", "NAME", panel=CORPORA),
    ] = None
    timeout: Annotated[
        float | None,
        option(
            "--timeout",
            "End a worker that takes longer for 1,000 lines. Default: 1800.",
            "SECONDS",
            number(float, above=0),
            panel=CORPORA,
        ),
    ] = None
    machine: Machine

    @property
    def is_corpus(self) -> bool:
        """Whether results go into a folder, file by file. A folder without any of these options contains documents."""
        named = self.inputs or []
        given = any(each is not None for each in (self.engine, self.shard, self.field, self.timeout))
        if given or len(named) != 1:
            return given or len(named) > 1
        if is_path(Path.is_dir, named[0]):
            return self.workers is not None
        into = self.output is not None and (self.output.endswith(("/", os.sep)) or Path(self.output).is_dir())
        return re.match(r"\w+://\S+$", named[0]) is not None or (into and _holds_lines(named[0]))

    @property
    def form(self) -> str:
        """The form of the lines."""
        return "json" if self.as_json else "n-best" if self.n_best > 1 else "text"

    @property
    def file(self) -> Path | None:
        """The output as a file."""
        return None if self.output is None else Path(self.output)

    @cached_property
    def sampling(self) -> Any:
        """The settings of sampling, if any. Raises `UserError` for options that exclude each other."""
        self.search.check(n_best=self.n_best, sample=self.sample)
        return self.drawing.sampling(sample=self.sample)

    @cached_property
    def asked(self) -> dict[str, Any]:
        """The options of `Translator.translate` but for the glossary and the memory. Raises `UserError` for those that
        exclude each other."""
        if self.no_protect and self.protect:
            raise UserError(f"--no-protect and --protect {self.protect[0]} exclude each other: leave one out")
        if self.protect:
            from limelight.text.protectors import pattern

            for each in self.protect:
                pattern(each)
        names = (
            *("source_lang", "target_lang", "lines", "formality", "domain", "n_best", "no_repeat_ngram", "sampling"),
            *("repetition_penalty", "must_include", "must_not_include", "batch_tokens"),
        )
        made = {**self.search.given(), **{name: getattr(self, name) for name in names}}
        made |= {"guards": not self.no_guards, "pivot": not self.no_pivot}
        return made | {"protect": False if self.no_protect else self.protect or None}

    @cached_property
    def found(self) -> tuple[list[str], list[RunConfig]]:
        """The folders of the models, and their configurations."""
        languages = {"source": self.source_lang, "target": self.target_lang}
        return find_models(self.model, **languages, translates=True, pivot=not self.no_pivot, bundled=True)

    @cached_property
    def segments(self) -> TranslationMemory | None:
        """The memory in the direction that is asked for, or in the only one of the model; None without a file.

        Raises `UserError` for a file that cannot be read, and if the direction is not known.
        """
        if self.memory is None:
            return None
        from limelight.config import directions_of
        from limelight.formats.pairs import names_languages
        from limelight.formats.translation_memory import open_memory

        languages, directions = (self.source_lang, self.target_lang), directions_of(self.found[1][0].data)
        if len(directions) == 1:
            languages = languages[0] or directions[0].source, languages[1] or directions[0].target
        if directions and not all(languages) and not names_languages([self.memory]):
            raise UserError(
                f"--memory {self.memory}: its languages are not in the file, and the model has several: add --from "
                "and --to"
            )
        return open_memory(self.memory, *languages, say=note)

    def terms(self) -> Glossary | None:
        """The glossary. Raises `UserError` if it cannot be read."""
        if self.glossary is None:
            return None
        from limelight.formats.glossaries import read_glossary

        return read_glossary(self.glossary, self.source_lang, self.target_lang)

    def plain(self) -> dict[str, Any]:
        """The given options as plain values for JSON."""
        given = {name: value for name, value in self.asked.items() if value is not None}
        return given if self.sampling is None else {**given, "sampling": asdict(self.sampling)}

    def made_of(self) -> dict[str, Any]:
        """What translations depend on besides the text, as plain values for JSON, with the content of files."""
        from limelight.files import sha256

        return made_with(self.found[0], self.machine, self.precision, shortlist=self.shortlist) | {
            "options": {name: value for name, value in self.plain().items() if name != "batch_tokens"},
            "shortlist": self.shortlist,
            "glossary": sha256(self.glossary) if self.glossary else "",
            "memory": sha256(self.memory) if self.memory else "",
        }

    def translator(self, **how: bool) -> Translator:
        """The translator; see `open_translator`."""
        return open_translator(self.found[0], self.machine, self.precision, shortlist=self.shortlist, **how)


def is_path(test: Callable[[Path], bool], name: str) -> bool:
    """Whether `name` passes `test` as a path. A text may be too long for a path, or have invalid characters."""
    try:
        return test(Path(name))
    except (OSError, ValueError):
        return False


def _holds_lines(name: str) -> bool:
    from limelight.formats.opening import DOCUMENT_SUFFIXES

    return is_path(Path.is_file, name) and Path(name).suffix.lower() not in DOCUMENT_SUFFIXES
