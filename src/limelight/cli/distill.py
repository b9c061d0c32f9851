"""`limelight distill` and `limelight back-translate`, which write training text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from limelight.cli import options
from limelight.cli.arguments import SEVERAL, option, refuse
from limelight.cli.corpora import by_direction, corpora
from limelight.cli.models import Machine, find_models, made_with, open_translator
from limelight.cli.outcome import command
from limelight.cli.output import show
from limelight.errors import UserError
from limelight.screen import Display

if TYPE_CHECKING:
    from limelight.config import Direction, RunConfig
    from limelight.corpus.synthesis import Job, Part, Survey, Tally
    from limelight.pipelines.translator import Translator

EXAMPLES = """
  limelight distill --model runs/en-de --train train.en train.de -o new.tsv.gz
  limelight distill --model runs/en-de --text more.en -o more.tsv.gz
  limelight distill --model runs/one --model runs/two --text a.en -o a.tsv
  limelight distill --model runs/many --train en-de=a.tsv en-fr=b.tsv \\
      -o new.tsv.zst
"""


@dataclass(frozen=True, kw_only=True)
class Making:
    """The options of both commands."""

    output: Path = option("The new corpus: .tsv, .tsv.gz, .tsv.xz or .tsv.zst.", "FILE", ..., "--output -o")
    model: options.Words = options.MODELS
    quiet: bool = options.QUIET
    source: str = options.FROM
    target: str = options.TO
    batch_tokens: int = options.BATCH_TOKENS
    precision: options.Precision = options.PRECISION
    shortlist: bool = options.SHORTLIST
    text: options.Words = option(
        "Text to translate, one sentence per line; also .gz, .xz, .zst.", SEVERAL, panel=options.TEXT
    )
    on_bad_line: options.OnBadLine = options.ON_BAD_LINE
    search: options.Search
    machine: Machine

    def plain_text(self, config: RunConfig) -> dict[Direction | None, list[Part]]:
        """The files of `--text`, in the direction that is asked for."""
        from limelight.config import directions_of, find_direction
        from limelight.corpus.synthesis import Part

        direction = find_direction(directions_of(config.data), self.source, self.target)
        return {direction: [Part((file,)) for file in self.text or ()]}

    def write(
        self,
        groups: Mapping[Direction | None, Sequence[Part]],
        side: Literal["source", "target"],
        search: Any,
        folders: list[str],
        config: RunConfig,
    ) -> None:
        """Write a corpus for each direction. Work of an interrupted run is not repeated."""
        from limelight.corpus.synthesis import Job, survey_job

        refuse({"--set guards": "guards" in search}, "training text is what the model writes; leave it out")
        # The filters are those of the model's own training text.
        limits = config.data.max_characters, config.data.max_length_ratio, self.on_bad_line == "skip"
        name = self.output.name
        stem = re.sub(r"(?i)\.tsv(\.\w+)?$", "", name)
        jobs = []
        for direction, parts in groups.items():
            output = self.output.with_name(f"{stem}.{direction}{name[len(stem) :]}") if len(groups) > 1 else self.output
            jobs.append(Job(tuple(parts), output, side, direction, search, *limits, self.batch_tokens))
        surveys = [survey_job(job) for job in jobs]
        made_of = made_with(folders, self.machine.device, self.precision, shortlist=self.shortlist)
        translator = open_translator(folders, self.machine, self.precision, shortlist=self.shortlist)
        for job, survey in zip(jobs, surveys, strict=True):
            _write(job, survey, translator, made_of, quiet=self.quiet)


@command("distill", EXAMPLES)
def distill(
    *,
    making: Making,
    train: options.Words = option(
        "Parallel text whose source side is translated, in the formats of `limelight train`.",
        SEVERAL,
        panel=options.TEXT,
    ),
) -> None:
    """Translate text into a training corpus for a smaller or faster model (knowledge distillation).

    After an interruption, the same command continues.
    """
    if bool(train) == bool(making.text):
        raise UserError("missing text: give either --train, parallel text, or --text, text in the source language")
    folders, configs = find_models(making.model)
    groups = making.plain_text(configs[0]) if making.text else {}
    if train:
        from limelight.config import directions_of, find_direction, sides_of
        from limelight.corpus.synthesis import Part

        languages = making.source, making.target
        by_name = by_direction(corpora(train, *languages, "--train"), configs, languages)
        for named, of_direction in by_name.items():
            direction = named or find_direction(directions_of(configs[0].data))
            groups[direction] = [Part(corpus.files, "source", sides_of(corpus, direction)) for corpus in of_direction]
    making.write(groups, "target", making.search.given(), folders, configs[0])


def _write(job: Job, survey: Survey, translator: Translator, made_of: dict[str, Any], *, quiet: bool) -> None:
    """Write a corpus, and say how to train with it."""
    from limelight.corpus.synthesis import report_table, synthesize

    begun = False

    def follow(tally: Tally, total: int) -> None:
        nonlocal begun
        if not begun:
            start = f"resuming after line {tally.inputs:,} of" if tally.inputs else "beginning:"
            display.say(f"{job.output}: {start} {total:,} lines")
            begun = True
        display.count("line", tally.inputs, total)

    with Display(quiet=quiet) as display:
        values = synthesize(job, survey, translator, made_with=made_of, show=follow)
        if not begun:
            display.say(f"{job.output}: nothing left to do: it is complete")
    show(report_table(values))
    turned = job.direction.reversed if job.direction and job.writes == "source" else job.direction
    file = f"{turned}={job.output}" if turned and all(turned.languages) else str(job.output)
    use = f"--train FILE... --back-translated {file}" if job.writes == "source" else f"--train {file}"
    show(f"  the report is in {job.output}.json; train with it: limelight train {use} ...")


BACK_TRANSLATE_EXAMPLES = """
  limelight back-translate --model runs/de-en --text mono.de -o new.tsv.gz
  limelight back-translate --model runs/de-en --text a.de --beam 1 -o a.tsv
  limelight back-translate --model runs/de-en --text a.de --sample -o b.tsv
  limelight back-translate --model runs/many --from de --to en \\
      --text mono.de.zst -o new.tsv.zst
  limelight train --train a.en a.de --back-translated new.tsv.gz \\
      --hold-out 500 --out runs/b
"""
SEED = 1
"""The default sampling seed: without a fixed seed a corpus could not be resumed."""


@command("back-translate", BACK_TRANSLATE_EXAMPLES)
def back_translate(*, making: Making, sample: bool = options.SAMPLE, drawing: options.Drawing) -> None:
    """Translate text of the target language into the source language, to train on (back-translation).

    The model is one of the reverse direction: for training en-de, it translates de-en.

    After an interruption, the same command continues.
    """
    if not making.text:
        raise UserError("missing text: give --text FILE..., in the target language of the new model")
    search = making.search.given()
    if sampling := drawing.sampling(sample=sample, why=options.NEEDS_SAMPLE, seed=SEED):
        search["sampling"] = sampling
    folders, configs = find_models(making.model)
    making.write(making.plain_text(configs[0]), "source", search, folders, configs[0])
