"""`limelight distill` and `limelight back-translate`, which write training text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from limelight.cli import options
from limelight.cli.arguments import SEVERAL, number, option
from limelight.cli.corpora import by_direction, corpora
from limelight.cli.models import Machine, find_models, made_with, open_translator
from limelight.cli.outcome import command
from limelight.cli.output import show, text_progress
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Corpus, Direction, RunConfig
    from limelight.corpus.synthesis import Job, Limits, Part

    Groups = Mapping[Direction | None, Sequence[Part]]

SourceText = Annotated[
    list[str] | None,
    option("--text", "Text to translate, one sentence per line; also .gz, .xz, .zst.", SEVERAL, panel=options.TEXT),
]
NewCorpus = Annotated[Path, option("--output -o", "The new corpus: .tsv, .tsv.gz, .tsv.xz or .tsv.zst.", "FILE")]
MaxLengthRatio = Annotated[
    float | None,
    option(
        "--max-length-ratio",
        "Leave out pairs with a larger ratio of lengths in characters. Default: the model's setting.",
        "R",
        number(float, 1),
        panel=options.TEXT,
    ),
]
EXAMPLES = """
  limelight distill --model runs/en-de --train train.en train.de -o new.tsv.gz
  limelight distill --model runs/en-de --text more.en -o more.tsv.gz
  limelight distill --model runs/one --model runs/two --text a.en -o a.tsv
  limelight distill --model runs/many --train en-de=a.tsv en-fr=b.tsv \\
      --both-directions -o new.tsv.zst
"""
WITH_LESS_MEMORY = (
    "Finished work is kept. A smaller --batch-tokens or --beam needs less memory, but starts again from the beginning"
)


@command("distill", EXAMPLES, WITH_LESS_MEMORY)
def distill(
    *,
    output: NewCorpus,
    model: options.Models = None,
    quiet: options.Quiet = False,
    source: options.FromLanguage = "",
    target: options.ToLanguage = "",
    batch_tokens: options.BatchTokens = 16384,
    precision: options.Precision = None,
    shortlist: options.Shortlisted = False,
    train: Annotated[
        list[str] | None,
        option(
            "--train",
            "Parallel text whose source side is translated, in the formats of `limelight train`.",
            SEVERAL,
            panel=options.TEXT,
        ),
    ] = None,
    text: SourceText = None,
    both_directions: Annotated[
        bool,
        option(
            "--both-directions", "Also translate the target side of --train, into a second file.", panel=options.TEXT
        ),
    ] = False,
    on_bad_line: options.OnBadLine = None,
    max_length_ratio: MaxLengthRatio = None,
    search: options.Search,
    machine: Machine,
) -> None:
    """Translate text into a training corpus for a smaller or faster model (knowledge distillation).

    After an interruption, the same command continues.
    """
    if bool(train) == bool(text):
        raise UserError("missing text: give either --train, parallel text, or --text, text in the source language")
    if text and both_directions:
        raise UserError("--both-directions needs both sides: give parallel text with --train")
    search.check(n_best=1)
    folders, configs = find_models(model, source=source, target=target, translates=bool(text))
    languages = source, target
    if text:
        groups = _text(text, configs[0], languages)
    else:
        groups = _pairs(train or [], configs, languages, both=both_directions)
    asked = search.given()
    from limelight.corpus.synthesis import Job

    limits = _limits(configs[0], max_length_ratio, on_bad_line)
    jobs = []
    for direction, parts in groups.items():
        place = _named_for(output, direction) if len(groups) > 1 else output
        jobs.append(
            Job(tuple(parts), place, "target", direction, asked, limits, batch_tokens)  # type: ignore[arg-type]  # of a table
        )
    _write(jobs, folders, machine, precision, shortlist=shortlist, quiet=quiet)


def _write(
    jobs: Sequence[Job], folders: list[str], machine: Machine, precision: str | None, *, shortlist: bool,
    quiet: bool,
) -> None:  # fmt: skip
    """Write the corpora in order. Work of an interrupted run is not repeated."""
    from limelight.corpus.synthesis import Tally, report_path, report_table, survey_job, synthesize

    surveys = [survey_job(job) for job in jobs]
    made_of = made_with(folders, machine, precision, shortlist=shortlist)
    translator = open_translator(folders, machine, precision, shortlist=shortlist)
    for job, found in zip(jobs, surveys, strict=True):
        begun = False

        def follow(tally: Tally, total: int, job: Job = job) -> None:
            nonlocal begun
            if not begun:
                went_on = f"resuming after line {tally.inputs:,} of" if tally.inputs else "beginning:"
                progress.say(f"{job.output}: {went_on} {total:,} lines")
                begun = True
            speed = f"{tally.tokens_per_second:,.0f} tokens/s"
            progress.show("line", tally.inputs, total, speed, seconds=tally.seconds)

        with text_progress(quiet=quiet) as progress:
            values = synthesize(job, found, translator, made_with=made_of, show=follow)
            if not begun:
                progress.say(f"{job.output}: nothing left to do: it is complete")
        show(report_table(values))
        turned = job.direction.reversed if job.direction and job.writes == "source" else job.direction
        file = f"{turned}={job.output}" if turned else str(job.output)
        use = f"--train FILE... --back-translated {file}" if job.writes == "source" else f"--train {file}"
        show(f"  the report is in {report_path(job.output)}; train with it: limelight train {use} ...")


def _limits(config: RunConfig, max_length_ratio: float | None, on_bad_line: str | None) -> Limits:
    """The filters of the corpus; the defaults are those of the model's own training text."""
    from limelight.corpus.synthesis import Limits

    ratio = config.data.max_length_ratio if max_length_ratio is None else max_length_ratio
    return Limits(config.data.max_characters, ratio, on_bad_line == "skip")


def _named_for(output: Path, direction: object) -> Path:
    """`new.en-de.tsv.gz` for `new.tsv.gz`, if each of several directions has a file."""
    from limelight.formats.opening import text_suffix

    base, dot, rest = output.name.rpartition(text_suffix(output))
    return output.with_name(f"{base}.{direction}{dot}{rest}")


def _text(files: list[str], config: RunConfig, asked: tuple[str, str]) -> Groups:
    """Plain text, in the requested direction."""
    from limelight.config import directions_of, find_direction
    from limelight.corpus.synthesis import Part

    return {find_direction(directions_of(config.data), *asked): [Part((file,)) for file in files]}


def _pairs(files: list[str], configs: list[RunConfig], asked: tuple[str, str], *, both: bool) -> Groups:
    """Each corpus in its direction and, with `both`, also reversed."""
    from limelight.config import directions_of, find_direction, known_languages, sides_of
    from limelight.corpus.synthesis import Part

    given = corpora(files, *asked, "--train")
    directions = directions_of(configs[0].data)
    if both and len(directions) < 2:
        raise UserError("--both-directions: this model translates in one direction; leave it out")
    groups: dict[Direction | None, list[Part]] = {}
    for asked_for, some in by_direction(given, configs, asked).items():
        direction = asked_for or find_direction(directions)
        groups[direction] = [Part(corpus.files, "source", sides_of(corpus, direction)) for corpus in some]
    turned = [_turned(corpus, *known_languages(corpus)) for corpus in given]
    for direction, some in by_direction(turned, configs, asked[::-1]).items() if both else ():
        groups.setdefault(direction, []).extend(
            Part(corpus.files, "target", sides_of(corpus, direction)[::-1]) for corpus in some
        )
    return groups


def _turned(corpus: Corpus, source: str, target: str) -> Corpus:
    sides = {"source": target or corpus.source, "target": source or corpus.target}
    return corpus.model_copy(update={**sides, "columns": corpus.columns[::-1]})


BACK_TRANSLATE_EXAMPLES = """
  limelight back-translate --model runs/de-en --text mono.de -o new.tsv.gz
  limelight back-translate --model runs/de-en --text a.de --beam 1 -o a.tsv
  limelight back-translate --model runs/de-en --text a.de --sample -o b.tsv
  limelight back-translate --model runs/many --from de --to en \\
      --text mono.de.zst -o new.tsv.zst
  limelight train --train a.en a.de --back-translated new.tsv.gz --out runs/b
"""
SEED = 1
"""The default sampling seed: without a fixed seed a corpus could not be resumed."""


@command("back-translate", BACK_TRANSLATE_EXAMPLES, WITH_LESS_MEMORY)
def back_translate(
    *,
    output: NewCorpus,
    model: options.Models = None,
    quiet: options.Quiet = False,
    source: options.FromLanguage = "",
    target: options.ToLanguage = "",
    batch_tokens: options.BatchTokens = 16384,
    precision: options.Precision = None,
    shortlist: options.Shortlisted = False,
    text: SourceText = None,
    on_bad_line: options.OnBadLine = None,
    max_length_ratio: MaxLengthRatio = None,
    search: options.Search,
    sample: options.Sample = False,
    drawing: options.Drawing,
    machine: Machine,
) -> None:
    """Make training text of target text, with a model of the reverse direction (back-translation).

    After an interruption, the same command continues.
    """
    if not text:
        raise UserError("missing text: give --text FILE..., in the target language of the new model")
    search.check(n_best=1, sample=sample)
    asked = search.given()
    if sampling := drawing.sampling(sample=sample, seed=SEED):
        asked["sampling"] = sampling
    folders, configs = find_models(model, source=source, target=target, translates=True)
    from limelight.corpus.synthesis import Job

    [(direction, parts)] = _text(text, configs[0], (source, target)).items()
    limits = _limits(configs[0], max_length_ratio, on_bad_line)
    job = Job(tuple(parts), output, "source", direction, asked, limits, batch_tokens)  # type: ignore[arg-type]  # of a table
    _write([job], folders, machine, precision, shortlist=shortlist, quiet=quiet)
