"""Corpora and bounds of training on the command line: `en-de=train.tsv`, `train.en train.de`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Corpus, Direction, RunConfig

_PREFIX = re.compile(r"(?P<source>[A-Za-z]{2,3}(?:_\w+)?)-(?P<target>[A-Za-z]{2,3}(?:[-_]\w+)?)=(?P<file>.+)")
NO_LANGUAGES = ("txt", "src", "tgt", "trg", "ref", "hyp", "sys", "out", "raw", "tok", "bpe", "spm", "new", "old", "bak")
"""Suffixes of text files that look like language codes but are not."""


def corpora(files: list[str], source: str, target: str, option: str) -> tuple[Corpus, ...]:
    """Group files into corpora: a file with both sides is one; other files are pairs, one for each language. The prefix
    `en-de=` of the first file names the languages of a corpus, and `:3,1` or `:English,German` after a table its
    columns.

    Raises `UserError` for a file without its counterpart or in an unsupported format, for two files in the opposite
    order of `source` and `target`, and for corpora of several directions that are not all named.
    """
    from limelight.config import Corpus, require_one_direction
    from limelight.formats.opening import BOTH_SIDES, holds_both_sides, open_text, refuse_name, text_suffix

    found: list[Corpus] = []
    waiting, guessed = "", False
    for word in _without_folders(files, option):
        if waiting:
            file = word
        else:
            named, file = _direction(word)
            guessed |= not named[0]
            languages = named[0] or source, named[1] or target
        file, columns = _columns(file)
        if holds_both_sides(Path(file)):
            if waiting:
                break
            sides = {"source": languages[0] or "source", "target": languages[1] or "target"}
            found.append(Corpus(files=(file,), **sides, columns=columns))
            continue
        refuse_name(Path(file), text_suffix(file))
        if waiting:
            spoken = languages[0] or _language(waiting, "source"), languages[1] or _language(file, "target")
            _require_order(option, (waiting, file), spoken)
            found.append(Corpus(files=(waiting, file), source=spoken[0], target=spoken[1]))
            waiting = ""
        else:
            waiting = file
    if waiting:
        if Path(waiting).is_file():
            open_text(waiting).close()  # it may be unreadable
        raise UserError(
            f"{option} {waiting}: a file with one language needs a file with the other, for example "
            f"{option} train.en train.de; or give one file that holds both ({', '.join(BOTH_SIDES)})"
        )
    if guessed:
        require_one_direction(found)
    return tuple(found)


def _without_folders(files: list[str], option: str) -> Iterator[str]:
    """The files, and those of dataset folders of Hugging Face in their place."""
    for word in files:
        languages, file = _direction(word)
        folder = Path(file)
        if not folder.is_dir():
            yield word
            continue
        if (folder / "dataset_dict.json").is_file():
            parts = ", ".join(sorted(str(path) for path in folder.iterdir() if path.is_dir()))
            raise UserError(f"{option} {file}: is a dataset of several parts; name one of them: {parts}")
        inside = [path for path in folder.rglob("*") if path.suffix in (".parquet", ".arrow")]
        if not inside:
            _refuse_folder(option, file)
        from limelight.formats.columns import files_of

        prefix = f"{'-'.join(languages)}=" if all(languages) else ""
        yield from (f"{prefix}{path}" for path in files_of(folder) or sorted(inside))


def _refuse_folder(option: str, file: str) -> None:
    """Raise `UserError` for a folder, with what to give instead."""
    if Path(file).is_dir():
        inside = sorted(path.name for path in Path(file).iterdir() if path.is_file() and not path.name.startswith("."))
        holds = f" (it holds {', '.join(inside[:4])}{' ...' if len(inside) > 4 else ''})" if inside else ""
        raise UserError(
            f"{option} {file}: is a folder{holds}; name the files in it: two files with equally many lines, for "
            f"example {option} {Path(file) / 'train.en'} {Path(file) / 'train.de'}, or one file that holds both sides"
        )


def _direction(word: str) -> tuple[tuple[str, str], str]:
    """Split `en-de=train.tsv` into languages and file; an existing file with that whole name takes precedence."""
    match = _PREFIX.fullmatch(word)
    if match is None or Path(word).exists():
        return ("", ""), word
    return (match["source"], match["target"]), match["file"]


def _columns(word: str) -> tuple[str, tuple[str, ...]]:
    """Split `pairs.tsv:3,1` into the file and its columns of source and target; an existing file with that whole name
    takes precedence."""
    file, colon, named = word.rpartition(":")
    columns = tuple(each.strip() for each in named.split(","))
    if not colon or len(columns) != 2 or not all(columns) or Path(word).exists() or not Path(file).is_file():
        return word, ()
    return file, columns


def _language(file: str, otherwise: str) -> str:
    """`train.en.gz` is English."""
    from limelight.formats.opening import text_suffix

    suffix = text_suffix(file).removeprefix(".")
    is_language = 2 <= len(suffix) <= 3 and suffix.isalpha() and suffix not in NO_LANGUAGES
    return suffix if is_language else otherwise


def _require_order(option: str, files: tuple[str, str], languages: tuple[str, str]) -> None:
    """Raise `UserError` if both file names have a language suffix, in the opposite order of `languages`."""
    named = _language(files[0], ""), _language(files[1], "")
    source, target = (language.lower() for language in languages)
    if all(named) and named[0] != named[1] and (source == named[1] or target == named[0]):
        raise UserError(
            f"{option} {files[0]} {files[1]}: the source file comes first, and from their names the first is in "
            f"{named[0]}, the second in {named[1]}; but --source is {languages[0]} and --target {languages[1]}. "
            f"Give {option} {files[1]} {files[0]}, or swap the languages"
        )


def by_direction(
    given: Sequence[Corpus], configs: list[RunConfig], asked: tuple[str, str]
) -> Mapping[Direction | None, Sequence[Corpus]]:
    """The corpora of each direction of a model with several directions; otherwise all of them, under None.

    `asked` are the languages of `--from` and `--to`, for corpora that do not name theirs. Raises `UserError` for a
    corpus that is in none of the model's directions.
    """
    from limelight.config import directions_of, find_direction, known_languages, require_not_reversed

    directions = directions_of(configs[0].data)
    if len(directions) < 2:
        for config in configs:
            require_not_reversed(given, config.data.train)
        return {None: given}
    grouped: dict[Direction | None, list[Corpus]] = {}
    for corpus in given:
        source, target = (here or there for here, there in zip(known_languages(corpus), asked, strict=True))
        grouped.setdefault(find_direction(directions, source, target), []).append(corpus)
    return grouped


SMALL = {"training.max_steps": 5000, "training.max_minutes": 45}
"""Bounds below which a run without `--recipe` takes `quick`."""
BOUNDS = tuple(SMALL)
OF_THE_RATE = {"training.schedule", "training.warmup", "training.decay_steps", "training.fit_to_budget"}


def with_budget(settings: list[str], *, fit: bool) -> list[str]:
    """The settings, and those implied by a bound: it replaces the other bound of the recipe; with `fit` the learning
    rate is fitted to it, unless a setting determines the schedule."""
    names = {setting.partition("=")[0].strip() for setting in settings}
    brought = [f"{bound}=null" for bound in BOUNDS if bound not in names] if _bounds(settings) else []
    if _bounds(settings) and fit and not names & OF_THE_RATE:
        brought.append("training.fit_to_budget=true")
    return [*brought, *settings]


def is_small_budget(settings: list[str]) -> bool:
    """Whether a bound is so small that the recipe `quick` is better than `small`."""
    return any(float(value) < SMALL[bound] for bound, value in _bounds(settings).items())


def _bounds(settings: list[str]) -> dict[str, str]:
    """The settings that bound the run."""
    values = {name.strip(): value.strip() for name, _, value in (setting.partition("=") for setting in settings)}
    return {bound: values[bound] for bound in BOUNDS if values.get(bound, "null") != "null"}
