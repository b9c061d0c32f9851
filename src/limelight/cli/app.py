"""`limelight VERB`: collects the verbs, and turns what can go wrong into a message and an exit code.

0 done; 1 the work failed; 2 the caller's mistake; 130 and 143 stopped by a signal with all saved.
"""

import os
import sys

import typer

from limelight import __version__
from limelight.cli.arguments import repeat_options
from limelight.cli.attention import attention
from limelight.cli.evaluate import evaluate
from limelight.cli.train import train
from limelight.cli.translate import translate
from limelight.errors import RunError, UserError

app = typer.Typer(
    name="limelight",
    help="Train, run and explain attention-based translation models.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for verb in (train, translate, evaluate, attention):
    app.command()(verb)


@app.callback()
def version(
    show: bool = typer.Option(False, "--version", help="Print the version and leave.", is_eager=True),
) -> None:
    """Train, run and explain attention-based translation models."""
    if show:
        typer.echo(f"limelight {__version__}")
        raise typer.Exit


def main() -> None:
    """The entry point of the `limelight` command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; returns its exit code and prints a message where one is due."""
    try:
        code = app(repeat_options(arguments), prog_name="limelight", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except (typer.Abort, KeyboardInterrupt):
        return 130
    except UserError as error:
        return _say(error, 2)
    except RunError as error:
        return _say(error, 1)
    except BrokenPipeError:
        # Whoever read our output has left (`| head`). Python would complain once more while closing the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _say(f"{error.filename or 'a file'}: {error.strerror or error}", 1)
    except BaseException as error:
        return _known_exit(error)


def _known_exit(error: BaseException) -> int:
    """The exit code of what carries one: a usage error of the parser, which shows itself, or a stop with all saved.

    Both are known by their attributes: the parser's classes are private to it, and those of training would import torch.
    """
    code = getattr(error, "exit_code", None)
    if not isinstance(code, int):
        raise error
    if hasattr(error, "show"):
        error.show()
        return code
    return _say(error, code)


def _say(message: object, code: int) -> int:
    typer.echo(f"limelight: {message}", err=True)
    return code
