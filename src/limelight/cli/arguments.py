"""Declaring options: each once, with its type, its help text and its bounds.

Options that belong together are a dataclass whose fields are options, such as `Machine`. A command with a parameter of
that type has all of them, and receives the object.
"""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from limelight.errors import UserError

SEVERAL = "FILE..."
"""Metavar of the options that take several arguments, as in `--train train.en train.de`."""
Parser = Callable[[str], Any]


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


def argument(help: str, metavar: str) -> Any:
    """An argument without a name, for an `Annotated` type."""
    return typer.Argument(help=help, metavar=metavar, show_default=False)


def number(
    kind: type[int] | type[float], at_least: float = -math.inf, at_most: float = math.inf, *, above: float = -math.inf
) -> Callable[[Any], Any]:
    """A parser for finite numbers within bounds; its error names the argument and the bounds."""
    bounds = [f"above {above:g}"] * (above > -math.inf) + [f"from {at_least:g} up"] * (at_least > -math.inf)
    bounds += [f"at most {at_most:g}"] * (at_most < math.inf)
    what = f"{'whole ' * (kind is int)}number {' and '.join(bounds)}".strip()

    def read(word: Any) -> Any:
        try:
            value = kind(word)
        except ValueError:
            value = math.nan
        if not (above < value and at_least <= value <= at_most and abs(value) < 2.0**63):
            raise typer.BadParameter(f"{word} is not a {what}")
        return value

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


def flag(name: str) -> str:
    """The option of a search or sampling setting."""
    return "--beam" if name == "beam_size" else f"--{name.replace('_', '-')}"


def refuse(given: Mapping[str, Any], why: str) -> None:
    """Raise `UserError` if one of these options is given: neither None, nor False, nor empty."""
    named = [
        name if value is True else f"{name} {value}"
        for name, value in given.items()
        if value is not None and value is not False and value != ""
    ]
    if named:
        raise UserError(f"{' and '.join(named)}: {why}")


def with_records(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of each dataclass among its parameters as options, in the place of the parameter."""
    signature, keyword = inspect.signature(command, eval_str=True), inspect.Parameter.KEYWORD_ONLY
    records = {name: each.annotation for name, each in signature.parameters.items() if is_dataclass(each.annotation)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        parameters += _options_of(records[name]) if name in records else [parameter.replace(kind=keyword)]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(**{name: _made(records[name], given) if name in records else given[name] for name in all_names})

    all_names = list(signature.parameters)
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _options_of(record: Any) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(record, include_extras=True)
    for each in fields(record):
        kind = hints[each.name]
        if is_dataclass(kind):
            yield from _options_of(kind)
            continue
        if bound := each.metadata.get("option"):
            metavar, parser = "N" if kind is int else "SECONDS", number(kind, bound.at_least)
            kind = Annotated[kind, option(bound.flag, bound.help, metavar, parser, panel="Limits")]
        if hasattr(kind, "__metadata__"):
            yield inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=kind)


def _made(record: Any, given: Mapping[str, Any]) -> Any:
    hints = get_type_hints(record)
    inner = {each.name: hints[each.name] for each in fields(record) if is_dataclass(hints[each.name])}
    plain = {each.name: given[each.name] for each in fields(record) if each.name in given}
    return record(**plain, **{name: _made(kind, given) for name, kind in inner.items()})


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
