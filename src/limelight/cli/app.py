"""The application `limelight COMMAND` with all commands.

The module of a command is imported when the command is called, and the list of commands imports none: `--help` must not
wait for torch or pydantic.
"""

import sys
from contextlib import suppress
from functools import cache, wraps
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from limelight import __version__
from limelight.cli.arguments import SEVERAL, option, repeat_options, with_records
from limelight.cli.outcome import LOADED, exit_code, say, silence
from limelight.errors import UserError
from limelight.files import cause
from limelight.memory import set_environment

HELP = ["-h", "--help"]
PANELS = {
    "Models": {
        "train": ("train", "Train a model on parallel, plain or labeled text, or resume a run."),
        "learn": ("train", "Fine-tune a model on a translation memory, in minutes."),
        "card": ("card", "Print the card of a model: its training text, quality and license."),
        "shortlist": ("card", "Learn a lexical shortlist, for faster translation."),
        "calibrate": ("card", "Make confidences true on your text, and choose alignment heads."),
        "export": ("export", "Write a model for CTranslate2, transformers or Argos, or a smaller one."),
        "import": ("export", "Make a Limelight model of a model of another tool."),
    },
    "Translation and text": {
        "translate": ("translate", "Translate a text, lines, documents, folders, or many files."),
        "generate": ("generate", "Continue a prompt with a language model."),
        "fill": ("generate", "Predict the tokens at the \\[MASK]s of a text."),
        "classify": ("generate", "Label each line with a classifier."),
        "align": ("attention", "Align the words of sentence pairs."),
        "serve": ("serve", "Answer translation requests over HTTP."),
        "keys": ("serve", "Create, list and revoke the keys of a service."),
    },
    "Measurement and inspection": {
        "evaluate": ("evaluate", "Evaluate a model on held-out text."),
        "compare": ("evaluate", "Compare two models, or files of translations, on one test set."),
        "score": ("evaluate", "Print the log-probability of given translations."),
        "attention": ("attention", "Show the attention weights of a model for a text."),
        "heads": ("attention", "Measure what each attention head does, and how much it matters."),
    },
    "Training text": {
        "pair": ("pair", "Make sentence pairs of documents and their translations."),
        "doctor": ("doctor", "Say what is wrong with training text or a run, or what this machine can do."),
        "clean": ("doctor", "Write sentence pairs without those that would harm training."),
        "distill": ("distill", "Translate text into a training corpus for a smaller model."),
        "back-translate": ("distill", "Translate target text into source text to train on."),
    },
}
"""The panels of the help: the commands of each, with their module and a line of help."""
COMMANDS = {name: command for commands in PANELS.values() for name, command in commands.items()}
UsageError = cast(type[Exception], typer.BadParameter.__bases__[0])
"""The base class of the parser's errors, which typer exports only through a subclass."""


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
        several = {name for parameter in self.params if parameter.metavar == SEVERAL for name in parameter.opts}
        return super().parse_args(ctx, repeat_options(args, several))


class Commands(_CleanHelp, TyperGroup):
    """`limelight`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | None:
        """The command in the list of commands."""
        for panel, commands in PANELS.items():
            if cmd_name in commands:
                return TyperCommand(cmd_name, help=commands[cmd_name][1], rich_help_panel=panel)
        return None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, parser_of(str(name)), rest


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


@cache
def parser_of(name: str) -> Any:
    """The parser of a command."""
    import_module(f"limelight.cli.{COMMANDS[name][0]}")
    about = LOADED[name]
    run = with_records(about.run)
    paragraphs = (about.run.__doc__ or "").split("\n\n")
    info = CommandInfo(
        name,
        cls=Command,
        callback=wraps(run)(lambda **options: exit_code(lambda: run(**options))),
        help="\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs),  # typer would keep line ends
        epilog=about.examples,
        context_settings={"help_option_names": HELP},
    )
    return get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode="rich")


def _print_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(f"limelight {__version__}")
        raise typer.Exit
    return False


@app.callback()
def limelight(
    version: bool = option(
        "Print the version and exit.", "", False, "--version", callback=_print_version, is_eager=True
    ),
    plugin: list[str] = option(
        "Python file with a score, loss, task, metric or logger of your own. Can be repeated.", "FILE", [], "--plugin"
    ),
) -> None:
    """Train, run and explain attention-based translation models."""
    if plugin:
        from limelight.cli.models import use_plugins

        use_plugins(plugin)


def run(arguments: list[str]) -> int:
    """Run one command line; returns its exit code (see `outcome`) and prints a message if it fails."""
    set_environment()  # before any command imports torch
    with suppress(AttributeError):  # closed, or replaced by another object
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # help has an ellipsis in narrow columns
    try:
        code = typer.main.get_command(app)(arguments or HELP[-1:], prog_name="limelight", standalone_mode=False)
    except UserError as error:
        return say(error, 2)
    except UsageError as error:
        return say(_usage_fault(error, arguments), 2)
    except SystemExit:  # raised while printing help to a closed pipe (`| head`)
        return 0
    except OSError as error:  # commands report their own; this one was printing help
        silence(sys.stdout)
        return say(f"standard output: cannot be written: {cause(error).lower()}", 1)
    if not arguments:
        return 2
    return code if isinstance(code, int) else 0


def _usage_fault(error: Exception, arguments: list[str]) -> str:
    """The message for an invalid command line, with the command that shows its help."""
    fault = " ".join(getattr(error, "format_message", error.__str__)().split()).rstrip(".")
    if isinstance(error.__cause__, ValueError) and hasattr(error.__cause__, "errors"):  # of pydantic
        fault = fault.replace("Input", str(error.__cause__.errors()[0]["input"]), 1)
    named = [word for word in arguments if word in COMMANDS][:1]
    return f"{fault[:1].lower()}{fault[1:]}; see `{' '.join(['limelight', *named])} --help`"
