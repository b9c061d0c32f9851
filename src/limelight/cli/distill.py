"""`limelight distill`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight.cli import options, search_options, synthesis_options
from limelight.cli.arguments import by_direction, corpora
from limelight.cli.corpus import ModelSettings, limits_of, named_for, search_of, write_corpora
from limelight.cli.models import Machine, find_models
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Corpus, Direction, RunConfig
    from limelight.corpus.synthesis import Part

    Groups = Mapping[Direction | None, Sequence[Part]]

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


def distill(
    *,
    output: synthesis_options.NewCorpus,
    model: options.Models = None,
    quiet: options.Quiet = False,
    source: options.FromLanguage = "",
    target: options.ToLanguage = "",
    choose_by: synthesis_options.ChooseBy = None,
    n_best: synthesis_options.ChosenFrom = None,
    batch_tokens: options.BatchTokens = 16384,
    precision: options.Precision = None,
    shortlist: options.Shortlisted = False,
    train: synthesis_options.Pairs = None,
    text: synthesis_options.SourceText = None,
    both_directions: synthesis_options.BothDirections = False,
    on_bad_line: options.OnBadLine = None,
    max_length_ratio: synthesis_options.MaxLengthRatio = None,
    search: search_options.Search,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Translate text into a training corpus for a smaller or faster model (knowledge distillation). After an
    interruption, the same command continues."""
    _check_text(train, text, choose_by=choose_by, n_best=n_best, both=both_directions)
    search_options.check_search(search, n_best=n_best or 2 * bool(choose_by))
    folders, configs = find_models(model, source=source, target=target, translates=bool(text))
    asked = source, target
    groups = _text(text, configs[0], asked) if text else _pairs(train or [], configs, asked, both=both_directions)
    chosen_from = n_best or search["beam_size"] or configs[0].decoding.beam_size if choose_by else None
    asked_for = search_of(**search, n_best=chosen_from)
    from limelight.corpus.synthesis import Job

    chosen_by: Any = choose_by.value if choose_by else ""
    limits = limits_of(configs[0], max_length_ratio, on_bad_line)
    jobs = [
        Job(tuple(parts), place, "target", direction, asked_for, chosen_by, limits, batch_tokens)
        for place, direction, parts in _places(output, groups)
    ]
    write_corpora(jobs, ModelSettings(folders, Machine(device, threads), precision, shortlist), quiet=quiet)


def _check_text(
    train: list[str] | None, text: list[str] | None, *, choose_by: object, n_best: int | None, both: bool
) -> None:
    """Raise `UserError` for options that do not fit the given text."""
    if bool(train) == bool(text):
        raise UserError("missing text: give either --train, parallel text, or --text, text in the source language")
    for option, given in {"--choose-by": choose_by, "--both-directions": both}.items() if text else ():
        if given:
            raise UserError(f"{option} needs reference translations: give parallel text with --train")
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
