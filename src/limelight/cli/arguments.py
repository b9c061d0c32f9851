"""Parsing of files, languages, numbers and bounds on the command line."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Corpus, Direction, RunConfig


SEVERAL = "FILE..."
"""Metavar of the options that take several arguments, as in `--train train.en train.de`."""
Parser = Callable[[str], Any]
_PREFIX = re.compile(r"(?P<source>[A-Za-z]{2,3}(?:_\w+)?)-(?P<target>[A-Za-z]{2,3}(?:[-_]\w+)?)=(?P<file>.+)")
NO_LANGUAGES = ("txt", "src", "tgt", "trg", "ref", "hyp", "sys", "out", "raw", "tok", "bpe", "spm", "new", "old", "bak")
"""Suffixes of text files that look like language codes but are not."""


def repeat_options(arguments: list[str], several: Collection[str]) -> list[str]:
    """Rewrite `--train A B` and `--train=A B` to `--train=A --train=B`: the parser takes one argument per option.
    `several` are the options of the command to which this applies.

    Arguments after `--` are unchanged. Raises `UserError` for such an option without an argument.
    """
    repeated: list[str] = []
    option, words = "", 0
    for place, word in enumerate(arguments):
        if not word.startswith("-") or word == "-":
            repeated.append(f"{option}={word}" if option else word)
            words += 1
            continue
        _require_word(option, words)
        if word == "--":
            return repeated + arguments[place:]
        name, equals, value = word.partition("=")
        option, words = (name, len(value)) if name in several else ("", 0)
        if not option or equals:
            repeated.append(word)
    _require_word(option, words)
    return repeated


def _require_word(option: str, words: int) -> None:
    if option and not words:
        from limelight.formats.opening import BOTH_SIDES

        raise UserError(
            f"{option}: name a file after it: one that holds both sides ({', '.join(BOTH_SIDES)}), two files line by "
            "line, or plain text"
        )


def corpora(files: list[str], source: str, target: str, option: str) -> tuple[Corpus, ...]:
    """Group files into corpora: a file with both sides is one; other files are pairs, one for each language. The prefix
    `en-de=` of the first file names the languages of a corpus.

    Raises `UserError` for a file without its counterpart or in an unsupported format, for two files in the opposite
    order of `source` and `target`, and for corpora of several directions that are not all named.
    """
    from limelight.config import Corpus, require_one_direction
    from limelight.formats.opening import BOTH_SIDES, holds_both_sides, open_text, refuse_name, text_suffix

    found: list[Corpus] = []
    waiting, guessed = "", False
    for word in files:
        if waiting:
            file = word
        else:
            named, file = _direction(word)
            guessed |= not named[0]
            languages = named[0] or source, named[1] or target
        if holds_both_sides(Path(file)):
            if waiting:
                break
            found.append(Corpus(files=(file,), source=languages[0] or "source", target=languages[1] or "target"))
            continue
        _refuse_folder(option, file)
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


class Group(NamedTuple):
    """Options that several commands share: a parameter `search: Annotated[dict[str, Any], Group(...)]` receives all of
    them, by name. See `with_groups`."""

    options: Mapping[str, Any]
    """`Annotated` types, by name."""
    defaults: Mapping[str, Any] = {}
    """None for names without one."""


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of each `Group` as parameters of their own, in the place of the parameter for it."""
    signature, keyword = inspect.signature(command, eval_str=True), inspect.Parameter.KEYWORD_ONLY
    groups: dict[str, Group] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        found = [each for each in getattr(parameter.annotation, "__metadata__", ()) if isinstance(each, Group)]
        if not found:
            parameters.append(parameter.replace(kind=keyword))
            continue
        groups[name] = found[0]
        for option, kind in found[0].options.items():
            default = found[0].defaults.get(option)
            parameters.append(inspect.Parameter(option, keyword, default=default, annotation=kind))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        grouped = {name: {option: given.pop(option) for option in group.options} for name, group in groups.items()}
        command(**given, **grouped)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def option(
    names: str,
    help: str,
    metavar: str | None = "",
    parser: Parser | None = None,
    *,
    panel: str | None = None,
    **more: Any,
) -> Any:
    """An option with its `names`, such as `--output -o`, for an `Annotated` type. Flags have no `metavar`; with None,
    typer shows its type."""
    return typer.Option(*names.split(), help=help, metavar=metavar, parser=parser, rich_help_panel=panel, **more)


def argument(help: str, metavar: str, **more: Any) -> Any:
    """An argument without a name, for an `Annotated` type."""
    return typer.Argument(help=help, metavar=metavar, **{"show_default": False, **more})


def whole_number(at_least: int, at_most: int = 2**63 - 1) -> Callable[[str | int], int]:
    """A parser for whole numbers within bounds; its error names the argument and the bounds."""
    bounds = f"from {at_least} up" if at_most == 2**63 - 1 else f"from {at_least} to {at_most}"

    def read(word: str | int) -> int:
        try:
            number = int(word)
        except ValueError:
            number = at_least - 1
        if not at_least <= number <= at_most:
            raise typer.BadParameter(f"{word} is not a whole number {bounds}")
        return number

    return read


def decimal(
    *, above: float = -math.inf, at_least: float = -math.inf, at_most: float = math.inf
) -> Callable[[str | float], float]:
    """A parser for finite numbers within bounds; its error names the argument and the bounds."""

    def read(word: str | float) -> float:
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not (above < number and at_least <= number <= at_most and math.isfinite(number)):
            bounds = [f"above {above:g}"] * (above > -math.inf) + [f"from {at_least:g} up"] * (at_least > -math.inf)
            bounds += [f"at most {at_most:g}"] * (at_most < math.inf)
            raise typer.BadParameter(f"{word} is not a number {' and '.join(bounds)}".strip())
        return number

    return read


def setting(name: str) -> Parser:
    """A parser for a field of `DecodingConfig`, which declares type and bounds; it is imported for a given value."""

    def read(word: str | float) -> Any:
        from pydantic import ValidationError

        from limelight.config import DecodingConfig

        try:
            return getattr(DecodingConfig.model_validate({name: word}), name)
        except ValidationError as error:
            raise typer.BadParameter(error.errors()[0]["msg"].replace("Input", str(word), 1)) from None

    return read


def device_name(word: str) -> str:
    """A device as torch names it, or `auto`. Whether it exists is tested when the command begins to work."""
    if not re.fullmatch(r"auto|cpu|mps|cuda(:[0-9]+)?", word):
        raise typer.BadParameter(f"{word} is not the name of a device; there are auto, cpu, cuda, cuda:N and mps")
    return word


BOUNDS = ("training.max_steps", "training.max_minutes")
OF_THE_RATE = {"training.schedule", "training.warmup", "training.decay_steps", "training.fit_to_budget"}


def with_budget(settings: list[str], *, fit: bool) -> list[str]:
    """The settings, and those implied by a bound: it replaces the other bound of the recipe; with `fit` the learning
    rate is fitted to it, unless a setting determines the schedule."""
    names = {setting.partition("=")[0].strip() for setting in settings}
    brought = [f"{bound}=null" for bound in BOUNDS if bound not in names] if has_bound(settings) else []
    if has_bound(settings) and fit and not names & OF_THE_RATE:
        brought.append("training.fit_to_budget=true")
    return [*brought, *settings]


def has_bound(settings: list[str]) -> bool:
    """Whether a setting bounds the run."""
    values = {name.strip(): value.strip() for name, _, value in (setting.partition("=") for setting in settings)}
    return any(values.get(bound, "null") != "null" for bound in BOUNDS)
