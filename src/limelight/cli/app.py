"""The application `limelight COMMAND` with all commands.

No slow imports before a command runs: `--help` must not wait for torch or pydantic.
"""

import sys
from functools import cache
from importlib import import_module
from io import TextIOBase
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from limelight import __version__
from limelight.cli.arguments import SEVERAL, repeat_options, with_groups
from limelight.cli.models import use_plugins
from limelight.cli.outcome import COMMANDS, guarded, say, silence
from limelight.errors import UserError
from limelight.files import cause

HELP = ["-h", "--help"]


class _CleanHelp:
    """A command whose `--help` is listed like other flags: typer would also show its type."""

    def get_help_option(self, ctx: Any) -> Any:
        """The option, without the name of its type."""
        option = super().get_help_option(ctx)  # type: ignore[misc]  # of the command that this is mixed into
        option.metavar = ""
        return option


class Command(_CleanHelp, TyperCommand):
    """`limelight COMMAND`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command, of which some options take several."""
        several = {name for each in self.params if each.metavar == SEVERAL for name in each.opts}
        return super().parse_args(ctx, repeat_options(args, several))


class Commands(_CleanHelp, TyperGroup):
    """`limelight`."""


app = typer.Typer(
    name="limelight",
    cls=Commands,
    help="Train, run and explain attention-based translation models.",
    epilog="`limelight COMMAND --help` shows the options of each, with examples.",
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP},
)
PANELS = {
    "Models": ("train", "learn", "card", "export"),
    "Translation and text": ("translate", "generate", "align", "serve"),
    "Measurement and inspection": ("evaluate", "attention", "heads", "patch"),
    "Training text": ("pair", "doctor", "clean", "distill"),
}
"""The panels of the help, and the modules whose commands they show: each registers its own."""
PANEL_OF = {f"limelight.cli.{module}": panel for panel, modules in PANELS.items() for module in modules}
for module in PANEL_OF:
    import_module(module)
for name, about in COMMANDS.items():
    app.command(
        name,
        cls=Command,
        epilog=about.examples,
        context_settings={"help_option_names": HELP},
        rich_help_panel=PANEL_OF[about.run.__module__],
    )(guarded(with_groups(about.run), with_less_memory=about.with_less_memory))

UsageError = cast(type[Exception], typer.BadParameter.__bases__[0])
"""The base class of the parser's errors, which typer exports only through a subclass."""


def _print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"limelight {__version__}")
        raise typer.Exit
    return False


@app.callback()
def limelight(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", metavar="", callback=_print_version, is_eager=True
    ),
    plugin: list[str] = typer.Option(
        [],
        "--plugin",
        help="Python file with a score, loss, task, metric or logger of your own. Can be repeated.",
        metavar="FILE",
    ),
) -> None:
    """Train, run and explain attention-based translation models."""
    if plugin:
        use_plugins(plugin)


@cache
def parser() -> Any:
    """The parser of all commands. It is built once: that takes as long as some commands."""
    return typer.main.get_command(app)


def main() -> None:
    """The entry point of the `limelight` command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; returns its exit code (see `outcome`) and prints a message if it fails."""
    try:
        code = parser()(arguments or HELP[-1:], prog_name="limelight", standalone_mode=False)
    except UserError as error:
        return say(error, 2)
    except UsageError as error:
        return say(_usage_fault(error, arguments), 2)
    except SystemExit:  # raised while printing help to a closed pipe (`| head`)
        return 0
    except OSError as error:  # commands report their own; this one was printing help
        silence(cast(TextIOBase, sys.stdout))
        return say(f"standard output: cannot be written: {cause(error).lower()}", 1)
    if not arguments:
        return 2
    return code if isinstance(code, int) else 0


OF_TEXT = {
    "--from": "--source LANG, the language of the source side",
    "--to": "--target LANG, the language of the target side (--from names a model to begin with)",
    **dict.fromkeys(("--source-lang", "--src"), "--source LANG"),
    **dict.fromkeys(("--target-lang", "--tgt", "--trg"), "--target LANG"),
}
"""Options that other commands, or other tools, have for the languages of text, with those of training."""
OF_DIRECTION = {
    **dict.fromkeys(("--source", "--source-lang", "--src"), "--from LANG"),
    **dict.fromkeys(("--target", "--target-lang", "--tgt", "--trg"), "--to LANG"),
}
"""The same for the options of the commands that translate."""
TEXT_COMMANDS = (["train"], ["clean"], ["doctor"])
"""Commands with the options of `OF_TEXT`."""
NO_LANGUAGES = "this command takes no language"
"""The message of the other commands for all of these options."""


def _usage_fault(error: Exception, arguments: list[str]) -> str:
    """The message for an invalid command line, with the command that shows its help."""
    fault = " ".join(getattr(error, "format_message", error.__str__)().split())
    fault = fault.rstrip(".").replace("Value error, ", "").replace("from: ,", "from:")
    if arguments and arguments[0].startswith("--plugin"):
        arguments = arguments[next((place for place, word in enumerate(arguments) if word in COMMANDS), 0) :]
    command = " ".join(["limelight", *(word for word in arguments[:1] if word in COMMANDS)])
    name = getattr(error, "option_name", "")
    if instead := (OF_TEXT if arguments[:1] in TEXT_COMMANDS else OF_DIRECTION).get(name):
        takes = arguments[:1] in TEXT_COMMANDS or instead.split()[0] in _options_of(arguments[:1])
        fault += f"; here it is {instead}" if takes else f"; {NO_LANGUAGES}" if arguments[0] in COMMANDS else ""
    return f"{fault[:1].lower()}{fault[1:]}; see `{command} --help`"


def _options_of(words: list[str]) -> set[str]:
    """The names of the options of a command."""
    return {name for word in words if word in COMMANDS for each in parser().commands[word].params for name in each.opts}
