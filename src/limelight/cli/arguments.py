"""Declaring options of commands: each once, as the default of a parameter with its help text and bounds.

Options that belong together are a dataclass whose fields are options, such as `Machine`. A command with a parameter of
that type has all of them, and receives the object.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import Field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import typer
from typer.models import OptionInfo, ParameterInfo

from limelight.errors import UserError

SEVERAL = "FILE..."
"""Metavar of the options that take several arguments, as in `--train train.en train.de`."""


def option(
    help: str, metavar: str, default: Any = None, names: str = "", *, panel: str | None = None, **bounds: Any
) -> Any:
    """An option; it is called like its parameter (`--max-steps`) unless `names` are given (`--output -o`)."""
    return typer.Option(default, *names.split(), help=help, metavar=metavar, rich_help_panel=panel, **bounds)


def flag(help: str, names: str = "", *, default: bool = False, panel: str | None = None) -> Any:
    """An option without a value."""
    return option(help, "", default, names, panel=panel)


def argument(help: str, metavar: str, default: Any = None) -> Any:
    """An argument without a name."""
    return typer.Argument(default, help=help, metavar=metavar, show_default=False)


def assignments(named: Mapping[str, Any]) -> list[str]:
    """`name=value` for each option that is given."""
    return [f"{name}={value}" for name, value in named.items() if value is not None]


def refuse(given: Mapping[str, Any], why: str) -> None:
    """Raise `UserError` if one of these options is given, a single or a repeated one: neither None, nor False, nor
    empty."""
    named = []
    for name, value in given.items():
        words = [value] if isinstance(value, int | float | str | Path) else value or ()
        named += [name if word is True else f"{name} {word}" for word in words if word is not False and word != ""]
    if named:
        raise UserError(f"{' and '.join(named)}: {why}")


def with_records(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the fields of each dataclass among its parameters as options, in the place of the parameter."""
    signature = inspect.signature(command, eval_str=True)
    kinds = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(**_arguments(kinds, given))

    run.__signature__ = signature.replace(parameters=[*_options(kinds, defaults)])  # type: ignore[attr-defined]
    return run


def _options(kinds: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[inspect.Parameter]:
    """The options among parameters or fields with these types and defaults."""
    for name, kind in kinds.items():
        if is_dataclass(kind):
            yield from _options(get_type_hints(kind), {field.name: _default(field) for field in fields(kind)})
        elif isinstance(default := defaults[name], ParameterInfo):
            if isinstance(default, OptionInfo) and not default.param_decls:
                default.param_decls = (f"--{name.replace('_', '-')}",)  # typer would add `--no-...` to a flag
            yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _default(field: Field[Any]) -> Any:
    """The default of a field; for a bound of the service, an option with it."""
    if not field.metadata:
        return field.default
    metavar = "N" if isinstance(field.default, int) else "SECONDS"
    return option(metavar=metavar, default=field.default, panel="Limits", **field.metadata)


def _arguments(kinds: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a function or a dataclass with parameters of these types."""
    records = {
        name: kind(**_arguments(get_type_hints(kind), given))
        for name, kind in kinds.items()
        if isinstance(kind, type) and is_dataclass(kind)
    }
    return {name: given[name] for name in kinds if name in given} | records


def repeat_options(arguments: list[str], several: Collection[str]) -> list[str]:
    """Rewrite `--train A B` and `--train=A B` to `--train=A --train=B`: the parser takes one argument per option.
    `several` are the options of the command to which this applies.

    Arguments after `--` are unchanged. Raises `UserError` for such an option without an argument.
    """
    repeated: list[str] = []
    option, missing = "", False
    for index, word in enumerate([*arguments, "--"]):
        if not word.startswith("-") or word == "-":
            repeated.append(f"{option}={word}" if option else word)
            missing = False
            continue
        if missing:
            raise UserError(
                f"{option}: name a file after it: one that holds both sides (.tsv, .jsonl, .tmx, ...), two files line "
                "by line, or plain text"
            )
        if word == "--":
            return repeated + arguments[index:]
        name, equals, value = word.partition("=")
        option = name if name in several else ""
        missing = bool(option) and not value
        if not option or equals:
            repeated.append(word)
    return repeated
