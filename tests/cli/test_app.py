"""What a newcomer sees: help that fits, examples that work, mistakes that are told."""

import shlex
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


def test_the_version(limelight: Limelight) -> None:
    assert limelight("--version") == (0, f"limelight {face.__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("frobnicate", "no such command 'frobnicate'; see `limelight --help`"),
        ("translate --wrong", "no such option: --wrong"),
        (
            "export",
            "missing option '--to'. Choose from: argos, ctranslate2, huggingface, limelight; see `limelight export",
        ),
        ("generate a b", "got unexpected extra argument(s) (b); see `limelight generate --help`"),
        ("translate --model", "option '--model' requires an argument; see `limelight translate --help`"),
        ("translate --beam 0", "invalid value for '--beam': 0 should be greater than or equal to 1"),
        ("translate --n-best x", "invalid value for '--n-best': x should be a valid integer"),
        ("translate --set patience=-1 x y", "--set: decoding.patience: input should be greater than 0"),
        ("attention", "missing argument"),
        ("evaluate", "missing option '--test'"),
        ("train", "missing option '--out'"),
        ("train --out r --max-minutes 0", "training.max_minutes: input should be greater than 0"),
    ],
)
def test_a_command_line_that_cannot_be_read_is_told_in_one_line(limelight: Limelight, words: str, message: str) -> None:
    ended = limelight(*words.split())
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("limelight: ")
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_a_near_name_is_proposed(limelight: Limelight) -> None:
    assert "--n-best" in limelight("translate", "--nbest", "3").err


def test_a_reader_of_help_who_leaves_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: object, **__: object) -> None:
        raise SystemExit(1)

    monkeypatch.setattr("typer.main.get_command", lambda _: leave)
    assert run(["--help"]) == 0
