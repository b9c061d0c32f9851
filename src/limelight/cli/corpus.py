"""Shared by `distill` and `back-translate`: open the model, write each corpus, print its report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from limelight.cli.models import Machine, made_with, open_translator
from limelight.cli.options import BadLinePolicy
from limelight.cli.output import show

if TYPE_CHECKING:
    from limelight.config import RunConfig
    from limelight.corpus.synthesis import Job, Limits
    from limelight.corpus.synthesis.synthesize import Survey
    from limelight.decoding.settings import SearchOptions
    from limelight.pipelines.translator import Translator


class ModelSettings(NamedTuple):
    """How the models are opened."""

    folders: list[str]
    machine: Machine
    precision: str | None = None
    shortlist: bool = False


def write_corpora(jobs: Sequence[Job], settings: ModelSettings, *, quiet: bool) -> None:
    """Write the corpora in order. Work of an interrupted run is not repeated."""
    from limelight.corpus.synthesis import survey_job

    surveys = [survey_job(job) for job in jobs]
    made_of = made_with(settings.folders, settings.machine, settings.precision, shortlist=settings.shortlist)
    translator = open_translator(settings.folders, settings.machine, settings.precision, shortlist=settings.shortlist)
    for job, found in zip(jobs, surveys, strict=True):
        _write(job, found, translator, made_of, quiet=quiet)


def _write(job: Job, found: Survey, translator: Translator, made_of: Mapping[str, object], *, quiet: bool) -> None:
    from limelight.cli.progress import text_progress
    from limelight.corpus.synthesis import report_table, synthesize
    from limelight.corpus.synthesis.synthesize import Tally, report_path

    begun = False

    def follow(tally: Tally, total: int) -> None:
        nonlocal begun
        if not begun:
            went_on = f"resuming after line {tally.inputs:,} of" if tally.inputs else "beginning:"
            progress.say(f"{job.output}: {went_on} {total:,} lines")
            begun = True
        progress.show(tally.inputs, total, tokens=tally.tokens, seconds=tally.seconds)

    with text_progress(quiet=quiet) as progress:
        values = synthesize(job, found, translator, made_with=made_of, show=follow)
        if not begun:
            progress.say(f"{job.output}: nothing left to do: it is complete")
    show(report_table(values))
    show(f"  the report is in {report_path(job.output)}; train with it: {_use(job)}")


def _use(job: Job) -> str:
    """The command that trains on the corpus."""
    turned = job.direction.reversed if job.direction and job.writes == "source" else job.direction
    file = f"{turned}={job.output}" if turned else str(job.output)
    if job.writes == "source":
        return f"limelight train --train FILE... --back-translated {file} ..."
    return f"limelight train --train {file} ..."


def search_of(**given: object) -> SearchOptions:
    """The given search options."""
    return {name: value for name, value in given.items() if value is not None}  # type: ignore[return-value]


def limits_of(config: RunConfig, max_length_ratio: float | None, on_bad_line: BadLinePolicy | None) -> Limits:
    """The filters of the corpus; the defaults are those of the model's own training text."""
    from limelight.corpus.synthesis import Limits

    ratio = config.data.max_length_ratio if max_length_ratio is None else max_length_ratio
    return Limits(config.data.max_characters, ratio, on_bad_line == BadLinePolicy.SKIP)


def named_for(output: Path, direction: object) -> Path:
    """`new.en-de.tsv.gz` for `new.tsv.gz`, if each of several directions has a file."""
    from limelight.text.open_text import text_suffix

    base, dot, rest = output.name.rpartition(text_suffix(output))
    return output.with_name(f"{base}.{direction}{dot}{rest}")
