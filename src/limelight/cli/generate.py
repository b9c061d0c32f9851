"""`limelight generate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from limelight.cli import options, search_options
from limelight.cli.input import lines_of
from limelight.cli.models import Machine, find_models, open_generator
from limelight.cli.output import Write, text_to
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.decoding.sampling import Sampling
    from limelight.pipelines.generator import Growth

EXAMPLES = """
[bold]Examples[/bold]
  limelight generate --model runs/plays "ROMEO:"
  limelight generate --model runs/plays "ROMEO:" --samples 3 --seed 7
  limelight generate --model runs/plays --temperature 0.5 < act.txt
  limelight generate --model runs/plays "ROMEO:" --greedy --stop "JULIET:"
  limelight generate --model runs/plays "" --max-tokens 10000 -o play.txt
"""
WITH_LESS_MEMORY = "Give fewer --samples, or smaller --max-tokens"

TEMPERATURE = 0.8
"""The default temperature: below 1, so that improbable tokens are rare, and texts still differ."""


def generate(
    *,
    prompt: options.Prompt = None,
    model: options.OneModel = None,
    samples: options.Samples = 1,
    max_tokens: options.MaxTokens = 500,
    max_pieces: options.FormerMaxTokens = None,
    stop: options.Stop = None,
    output: options.Output = None,
    as_json: options.AsJsonTexts = False,
    precision: options.Precision = None,
    greedy: search_options.Greedy = False,
    drawing: search_options.Drawing,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Continue a prompt with a language model, by sampling (temperature 0.8 by default)."""
    sampling = _sampling(greedy, samples, drawing)
    folders, _ = find_models(model)
    begin = _prompt(prompt)
    with text_to(output) as write:
        generator = open_generator(folders, Machine(device, threads), precision)
        grown = generator.write(
            begin, samples=samples, max_tokens=max_pieces or max_tokens, sampling=sampling, stop=stop or ()
        )
        if as_json:
            found = {each.sample: each.done for each in grown if each.done is not None}
            for _, text in sorted(found.items()):
                write(json.dumps(asdict(text), ensure_ascii=False) + "\n")
        else:
            _write(_shown(grown, begin, samples), write)


def _prompt(given: str | None) -> str:
    """The prompt, without the final line end that a shell or an editor adds."""
    if given is None or given == "-":
        if sys.stdin is None:
            raise UserError("standard input is closed: give the prompt as an argument")
        if sys.stdin.isatty():
            typer.echo("The text to continue; Ctrl-D ends it.", err=True)
        return "\n".join(lines_of(None))
    try:
        given.encode("utf-8")
    except UnicodeEncodeError:
        raise UserError("the prompt is not valid UTF-8; give it in a file: limelight generate ... < FILE") from None
    return given


def _sampling(greedy: bool, samples: int, given: dict[str, float | int | None]) -> Sampling | None:
    wanted = {name: value for name, value in given.items() if value is not None}
    if greedy:
        if wanted:
            named = " and ".join(f"{search_options.flag(name)} {value}" for name, value in wanted.items())
            raise UserError(f"{named}: --greedy does not sample; leave out one of them")
        if samples > 1:
            raise UserError(f"--samples {samples}: with --greedy all would be the same; leave out one or the other")
        return None
    from limelight.decoding.sampling import Sampling

    return Sampling(**{"temperature": TEMPERATURE, **wanted})  # type: ignore[arg-type]  # each name has its own type


def _shown(grown: Iterable[Growth], prompt: str, samples: int) -> Iterator[str]:
    """Prompts and texts, one sample after the other: the current sample is shown while it is generated."""
    headings = [f"--- {number + 1} of {samples} ---\n" if samples > 1 else "" for number in range(samples)]
    waiting = [heading + prompt for heading in headings]
    done = [False] * samples
    shown = 0
    for sample, text, whole in grown:
        waiting[sample] += text
        done[sample] = whole is not None
        while shown < samples:
            if waiting[shown]:
                yield waiting[shown]
                waiting[shown] = ""
            if not done[shown]:
                break
            yield "\n"
            shown += 1


def _write(parts: Iterable[str], write: Write) -> None:
    """Write parts as they arrive; an interrupted line is ended."""
    end = "\n"
    try:
        for part in parts:
            write(part)
            end = part[-1]
    except BaseException:
        if end != "\n":
            with suppress(Exception):  # what is raised says why
                write("\n")
        raise
