"""`limelight distill` and `limelight back-translate`, which write training text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from limelight.cli import options, search_options
from limelight.cli.arguments import by_direction, corpora, decimal, option, whole_number
from limelight.cli.models import Machine, find_models, made_with, open_translator
from limelight.cli.outcome import command
from limelight.cli.output import show
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Corpus, Direction, RunConfig
    from limelight.corpus.synthesis import Job, Limits, Part
    from limelight.corpus.synthesis.synthesize import Survey
    from limelight.decoding.request import SearchOptions
    from limelight.pipelines.translator import Translator

    Groups = Mapping[Direction | None, Sequence[Part]]

TEXT = "Text"


SourceText = Annotated[
    list[str] | None,
    option("--text", "Text to translate, one sentence per line; also .gz, .xz, .zst.", "FILE...", panel=TEXT),
]
Pairs = Annotated[
    list[str] | None,
    option(
        "--train",
        "Parallel text whose source side is translated, in the formats of `limelight train`.",
        "FILE...",
        panel=TEXT,
    ),
]
BothDirections = Annotated[
    bool, option("--both-directions", "Also translate the target side of --train, into a second file.", panel=TEXT)
]
NewCorpus = Annotated[Path, option("--output -o", "The new corpus: .tsv, .tsv.gz, .tsv.xz or .tsv.zst.", "FILE")]
ChooseBy = Annotated[
    Literal["bleu", "chrf"] | None,
    option(
        "--choose-by",
        "Keep the n-best hypothesis most similar to the reference, by [bold]bleu[/bold] or [bold]chrf[/bold].",
        "NAME",
    ),
]
ChosenFrom = Annotated[
    int | None,
    option("--n-best", "Number of hypotheses for --choose-by. Default: the beam size.", "N", whole_number(2)),
]
MaxLengthRatio = Annotated[
    float | None,
    option(
        "--max-length-ratio",
        "Leave out pairs with a larger ratio of lengths in characters. Default: the model's setting.",
        "R",
        decimal(at_least=1.0),
        panel=TEXT,
    ),
]


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
    from limelight.cli.output import text_progress
    from limelight.corpus.synthesis import report_table, synthesize
    from limelight.corpus.synthesis.synthesize import Tally, report_path

    begun = False

    def follow(tally: Tally, total: int) -> None:
        nonlocal begun
        if not begun:
            went_on = f"resuming after line {tally.inputs:,} of" if tally.inputs else "beginning:"
            progress.say(f"{job.output}: {went_on} {total:,} lines")
            begun = True
        progress.show("line", tally.inputs, total, f"{tally.tokens_per_second:,.0f} tokens/s", seconds=tally.seconds)

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


def limits_of(config: RunConfig, max_length_ratio: float | None, on_bad_line: str | None) -> Limits:
    """The filters of the corpus; the defaults are those of the model's own training text."""
    from limelight.corpus.synthesis import Limits

    ratio = config.data.max_length_ratio if max_length_ratio is None else max_length_ratio
    return Limits(config.data.max_characters, ratio, on_bad_line == "skip")


def named_for(output: Path, direction: object) -> Path:
    """`new.en-de.tsv.gz` for `new.tsv.gz`, if each of several directions has a file."""
    from limelight.formats.opening import text_suffix

    base, dot, rest = output.name.rpartition(text_suffix(output))
    return output.with_name(f"{base}.{direction}{dot}{rest}")


EXAMPLES = """
[bold]Examples[/bold]
  limelight distill --model runs/en-de --train train.en train.de -o new.tsv.gz
  limelight distill --model runs/en-de --text more.en -o more.tsv.gz
  limelight distill --model runs/en-de --train a.tsv --choose-by chrf -o b.tsv
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
    choose_by: ChooseBy = None,
    n_best: ChosenFrom = None,
    batch_tokens: options.BatchTokens = 16384,
    precision: options.Precision = None,
    shortlist: options.Shortlisted = False,
    train: Pairs = None,
    text: SourceText = None,
    both_directions: BothDirections = False,
    on_bad_line: options.OnBadLine = None,
    max_length_ratio: MaxLengthRatio = None,
    search: search_options.Search,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Translate text into a training corpus for a smaller or faster model (knowledge distillation).

    After an interruption, the same command continues.
    """
    _check_text(train, text, choose_by=choose_by, n_best=n_best, both=both_directions)
    search_options.check_search(search, n_best=n_best or 2 * bool(choose_by))
    folders, configs = find_models(model, source=source, target=target, translates=bool(text))
    asked = source, target
    groups = _text(text, configs[0], asked) if text else _pairs(train or [], configs, asked, both=both_directions)
    chosen_from = n_best or search["beam_size"] or configs[0].decoding.beam_size if choose_by else None
    asked_for = search_of(**search, n_best=chosen_from)
    from limelight.corpus.synthesis import Job

    limits = limits_of(configs[0], max_length_ratio, on_bad_line)
    jobs = [
        Job(tuple(parts), place, "target", direction, asked_for, choose_by or "", limits, batch_tokens)
        for place, direction, parts in _places(output, groups)
    ]
    write_corpora(jobs, ModelSettings(folders, Machine(device, threads), precision, shortlist), quiet=quiet)


def _check_text(
    train: list[str] | None, text: list[str] | None, *, choose_by: object, n_best: int | None, both: bool
) -> None:
    """Raise `UserError` for options that do not fit the given text."""
    if bool(train) == bool(text):
        raise UserError("missing text: give either --train, parallel text, or --text, text in the source language")
    for name, given in {"--choose-by": choose_by, "--both-directions": both}.items() if text else ():
        if given:
            raise UserError(f"{name} needs reference translations: give parallel text with --train")
    if n_best and not choose_by:
        raise UserError(f"--n-best {n_best} needs --choose-by bleu or chrf; add it or leave --n-best out")


def _places(output: Path, groups: Groups) -> Iterator[tuple[Path, Direction | None, Sequence[Part]]]:
    """The output file of each direction: `output` itself if there is one direction."""
    for direction, parts in groups.items():
        yield (named_for(output, direction) if len(groups) > 1 else output), direction, parts


def _text(files: list[str], config: RunConfig, asked: tuple[str, str]) -> Groups:
    """Plain text, in the requested direction."""
    from limelight.config import directions_of, find_direction
    from limelight.corpus.synthesis import Part

    return {find_direction(directions_of(config.data), *asked): [Part((file,)) for file in files]}


def _pairs(files: list[str], configs: list[RunConfig], asked: tuple[str, str], *, both: bool) -> Groups:
    """Each corpus in its direction and, with `both`, also reversed."""
    from limelight.config import directions_of, find_direction, known_languages
    from limelight.corpus.synthesis import Part

    given = corpora(files, *asked, "--train")
    directions = directions_of(configs[0].data)
    if both and len(directions) < 2:
        raise UserError("--both-directions: this model translates in one direction; leave it out")
    groups: dict[Direction | None, list[Part]] = {}
    for asked_for, some in by_direction(given, configs, asked).items():
        direction = asked_for or find_direction(directions)
        groups[direction] = [Part(corpus.files, "source", known_languages(corpus, direction)) for corpus in some]
    for direction, some in by_direction(_turned(given), configs, asked[::-1]).items() if both else ():
        groups.setdefault(direction, []).extend(
            Part(corpus.files, "target", known_languages(corpus, direction)[::-1]) for corpus in some
        )
    return groups


def _turned(given: Sequence[Corpus]) -> list[Corpus]:
    from limelight.config import known_languages

    found = []
    for corpus in given:
        source, target = known_languages(corpus)
        languages = {"source": target, "target": source}
        found.append(corpus.model_copy(update={side: language for side, language in languages.items() if language}))
    return found


BACK_TRANSLATE_EXAMPLES = """
[bold]Examples[/bold]
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
    search: search_options.Search,
    sample: search_options.Sample = False,
    drawing: search_options.Drawing,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Make training text of target text, with a model of the reverse direction (back-translation).

    After an interruption, the same command continues.
    """
    if not text:
        raise UserError("missing text: give --text FILE..., in the target language of the new model")
    search_options.check_search(search, n_best=1, sample=sample)
    if sample and drawing["seed"] is None:
        drawing["seed"] = SEED
    sampling = search_options.sampling_of(drawing, sample=sample)
    folders, configs = find_models(model, source=source, target=target, translates=True)
    from limelight.config import directions_of, find_direction
    from limelight.corpus.synthesis import Job, Part

    direction = find_direction(directions_of(configs[0].data), source, target)
    limits = limits_of(configs[0], max_length_ratio, on_bad_line)
    parts = tuple(Part((file,)) for file in text)
    job = Job(parts, output, "source", direction, search_of(**search, sampling=sampling), "", limits, batch_tokens)
    write_corpora([job], ModelSettings(folders, Machine(device, threads), precision, shortlist), quiet=quiet)
