"""What a newcomer sees: help that fits, examples that work, mistakes that are told."""

import io
import shlex
import sys
from typing import Any

import pytest

import limelight as face
from limelight.cli.app import COMMANDS, parser_of, run
from limelight.cli.outcome import LOADED
from tests.cli.conftest import Limelight

PARSED = {name: parser_of(name) for name in COMMANDS}


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def examples_of(command: str) -> list[str]:
    """The command lines under "Examples", continued ones in one."""
    text = LOADED[command].examples.replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if "limelight" in line]


def spellings(parameter: Any) -> list[str]:
    """The options that a parameter is given by; none of one that only old scripts know."""
    return [] if getattr(parameter, "hidden", False) else [option for option in parameter.opts if "-" in option]


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_names_every_option_and_shows_the_examples(
    limelight: Limelight, command: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ended = limelight(*command.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    assert limelight(*command.split(), "-h") == ended
    lines = ended.out.splitlines()
    assert max(map(len, lines)) <= columns
    assert "…" not in ended.out
    assert "bool" not in ended.out.lower()  # flags stand there without a type
    line = next(line for line in lines if "--help" in line and "-h" in line.split())
    assert line.replace("│", "").split()[:5] == ["--help", "-h", "Show", "this", "message"]
    if command:
        assert all(option in ended.out for parameter in PARSED[command].params for option in spellings(parameter))
        shown, examples = [line.strip() for line in lines], LOADED[command].examples
        plain = examples.replace("[bold]", "").replace("[/bold]", "").splitlines()
        assert all(line.strip() in shown for line in filter(None, plain))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_in_the_help_can_be_parsed(command: str) -> None:
    assert examples_of(command)
    for line in examples_of(command):
        words = shlex.split(line.partition("|")[2] or line)
        words = words[: min(words.index(sign) if sign in words else len(words) for sign in "<>")]
        assert words[0] == "limelight"
        PARSED[words[1]].make_context(words[1], words[2:])
    assert any(f"limelight {command} " in line for line in examples_of(command))


def test_help_in_any_encoding_and_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="latin-1"))
    assert run(["train", "--help"]) == 0


def test_the_version(limelight: Limelight) -> None:
    assert limelight("--version") == (0, f"limelight {face.__version__}\n", "")


def test_a_reader_of_help_who_leaves_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: object, **__: object) -> None:
        raise SystemExit(1)

    monkeypatch.setattr("typer.main.get_command", lambda _: leave)
    assert run(["--help"]) == 0
