"""Corpora and bounds of training on the command line: `en-de=train.tsv`, `train.en train.de`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Corpus, Direction, RunConfig

_PREFIX = re.compile(
    r"(?P<source>[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|\d{3}))?|[A-Za-z]{2,3}(?:_\w+)?)"
    r"-(?P<target>[A-Za-z]{2,3}(?:[-_]\w+){0,2})=(?P<file>.+)"
)
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
    from limelight.formats.opening import BOTH_SIDES, holds_both_sides, open_text, refuse_name

    grouped: list[Corpus] = []
    is_guessed = False
    words = iter(files)
    for word in words:
        source_lang, target_lang, file = _direction(word)
        if (folder := Path(file)).is_dir():
            raise UserError(
                f"{option} {file}: is a folder; name the files in it: two files with equally many lines, for example "
                f"{option} {folder / 'train.en'} {folder / 'train.de'}, or one file that holds both sides"
            )
        is_guessed |= not source_lang
        source_lang, target_lang = source_lang or source, target_lang or target
        file, columns = _columns(file)
        if holds_both_sides(Path(file)):
            grouped.append(
                Corpus(files=(file,), source=source_lang or "source", target=target_lang or "target", columns=columns)
            )
            continue
        other = next(words, None)
        for name in (file, other or file):
            refuse_name(Path(name))
        if other is None or holds_both_sides(Path(other)):
            open_text(file).close()  # it may be missing, or unreadable as text
            raise UserError(
                f"{option} {file}: a file with one language needs a file with the other, for example "
                f"{option} train.en train.de; or give one file that holds both ({', '.join(BOTH_SIDES)})"
            )
        named = source_lang or _language(file, "source"), target_lang or _language(other, "target")
        _require_order(option, (file, other), named)
        grouped.append(Corpus(files=(file, other), source=named[0], target=named[1]))
    if is_guessed:
        require_one_direction(grouped)
    return tuple(grouped)


def _direction(word: str) -> tuple[str, str, str]:
    """Split `en-de=train.tsv` into languages and file; an existing file with that whole name takes precedence."""
    match = _PREFIX.fullmatch(word)
    if match is None or Path(word).exists():
        return "", "", word
    return match["source"], match["target"], match["file"]


def _columns(word: str) -> tuple[str, tuple[str, ...]]:
    """Split `pairs.tsv:3,1` into the file and its columns of source and target; an existing file with that whole name
    takes precedence."""
    file, colon, named = word.rpartition(":")
    columns = tuple(column.strip() for column in named.split(","))
    if not colon or len(columns) != 2 or not all(columns) or Path(word).exists() or not Path(file).is_file():
        return word, ()
    return file, columns


def files_in(words: Sequence[str]) -> list[str]:
    """The files of these arguments, without languages and columns."""
    return [_columns(_direction(word)[2])[0] for word in words]


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
    texts: Sequence[Corpus], configs: list[RunConfig], languages: tuple[str, str]
) -> Mapping[Direction | None, Sequence[Corpus]]:
    """The corpora of each direction of a model with several directions; otherwise all of them, under None.

    `languages` are `--from` and `--to`, for corpora that do not name theirs. Raises `UserError` for a
    corpus, and for `languages`, in none of the model's directions.
    """
    from limelight.config import directions_of, find_direction, require_not_reversed

    directions = directions_of(configs[0].data)
    grouped: dict[Direction | None, list[Corpus]] = {}
    is_named = any(any(direction.languages) for direction in directions)
    for corpus in texts:
        # A model of one direction ignores a guess from the name of a file: `test.deu` is German, too.
        files = corpus.files if len(corpus.files) > 1 and len(directions) < 2 else ("", "")
        sides = zip(corpus.direction.languages, files, languages, strict=True)
        source, target = (named if own in ("", _language(file, "")) else own for own, file, named in sides)
        found = find_direction(directions, source, target) if is_named else None
        grouped.setdefault(found if len(directions) > 1 else None, []).append(corpus)
    if len(directions) < 2:
        for config in configs:
            require_not_reversed(texts, config.data.train)
    return grouped


SMALL = {"max_steps": 5000, "max_minutes": 45}
"""Bounds below which a run without `--recipe` takes `quick`."""
OF_THE_RATE = {"schedule", "warmup", "decay_steps", "fit_to_budget"}


def with_settings(config: RunConfig, settings: list[str], *, fit: bool) -> RunConfig:
    """The configuration with settings, and with what a bound among them implies: it replaces the other bound of the
    recipe; with `fit` the learning rate is fitted to it, unless a setting determines the schedule."""
    from limelight.config import override

    names = {setting.partition("=")[0].strip().removeprefix("training.") for setting in settings}
    if names & {"schedule", "decay_steps"} and "fit_to_budget" not in names:
        settings = [*settings, "training.fit_to_budget=false"]
    config = override(config, settings)
    if not any(bound in names and getattr(config.training, bound) is not None for bound in SMALL):
        return config
    implied: dict[str, Any] = {bound: None for bound in SMALL if bound not in names}
    if fit and not names & OF_THE_RATE:
        implied["fit_to_budget"] = True
    return config.model_copy(update={"training": config.training.model_copy(update=implied)})


def is_small_budget(config: RunConfig) -> bool:
    """Whether a bound is so small that the recipe `quick` is better than `small`."""
    return any((getattr(config.training, bound) or small) < small for bound, small in SMALL.items())
