"""`limelight translate`."""

import contextlib
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Annotated, Any

import typer


def translate(
    file: Annotated[Path | None, typer.Argument(help="A sentence per line; standard input when not given.")] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Run or model folder; several are one ensemble.", metavar="RUN")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Standard output when not given.")] = None,
    beam: Annotated[int | None, typer.Option(help="Beam size; the model's own default when not given.", min=1)] = None,
    n_best: Annotated[int, typer.Option(help="Translations per sentence, as `number ||| text ||| score`.", min=1)] = 1,
    to: Annotated[str, typer.Option(help="Target language, checked against the model's.", metavar="LANG")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per line, with score and tokens.")] = False,
) -> None:
    """Translate text line by line.

    [bold]Examples[/bold]

      limelight translate --model runs/en-de < input.txt > output.txt

      echo "A dog runs." | limelight translate --model runs/en-de --n-best 3 --json
    """
    from limelight.cli.models import open_translator
    from limelight.text.readers import read_lines, read_stream

    translator = open_translator(model, to=to)
    lines = read_lines(file) if file else read_stream(sys.stdin.buffer, "standard input")
    with _destination(output) as out:
        for number, translation in enumerate(translator.translate_stream(lines, beam_size=beam, n_best=n_best)):
            if as_json:
                print(json.dumps(asdict(translation), ensure_ascii=False), file=out)
            elif n_best == 1:
                print(translation.text, file=out)
            else:
                for each in (translation, *translation.alternatives):
                    print(f"{number} ||| {each.text} ||| {each.score:.4f}", file=out)


@contextlib.contextmanager
def _destination(path: Path | None) -> Iterator[IO[Any]]:
    """A file that appears when it is complete, or standard output."""
    if path is None:
        with contextlib.suppress(AttributeError):
            sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        yield sys.stdout
        sys.stdout.flush()
        return
    from limelight.files import PARTIAL

    partial = path.with_name(path.name + PARTIAL)
    try:
        with open(partial, "w", encoding="utf-8") as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
