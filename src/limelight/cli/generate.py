"""`limelight generate`, `fill` and `classify`, for models that do not translate."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from limelight.cli import options, search_options
from limelight.cli.models import Machine, find_models, open_classifier, open_generator, open_mask_filler
from limelight.cli.outcome import command
from limelight.cli.output import Write, greet, lines_of, lines_to, live_lines_of, text_to
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.decoding.sampling import Sampling
    from limelight.pipelines.generator import Growth
    from limelight.pipelines.mask_filler import Filled

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


@command("generate", EXAMPLES, WITH_LESS_MEMORY)
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


FILL_EXAMPLES = """
[bold]Examples[/bold]
  limelight fill --model runs/captions "A man is [MASK] a ball."
  limelight fill --model runs/captions "A [MASK] on the [MASK]." --top 3
  limelight fill --model runs/captions --json < masked.txt > filled.jsonl
"""


@command("fill", FILL_EXAMPLES, "Give a shorter text")
def fill(
    text: options.MaskedText = None,
    model: options.OneModel = None,
    top: options.Top = 5,
    as_json: options.AsJsonLines = False,
    output: options.Output = None,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Predict the token at each [MASK] of a text."""
    folders, _ = find_models(model)
    texts = lines_of(None) if text is None else iter([text])
    with lines_to(output) as write:
        filler = open_mask_filler(folders, Machine(device, threads))
        if text is None:
            greet(None)
        for number, each in enumerate(texts, start=1):
            try:
                filled = filler.fill(each, top=top)
            except UserError as error:
                raise UserError(f"line {number}: {error}" if text is None else str(error)) from None
            for line in [json.dumps(asdict(filled), ensure_ascii=False)] if as_json else _filled_lines(filled):
                write(line)


def _filled_lines(filled: Filled) -> Iterator[str]:
    """A line for each mask, then the text with the best predictions."""
    for number, guesses in enumerate(filled.masks, start=1):
        yield f"[MASK] {number}: " + "  ".join(f"{guess.text} {guess.probability:.4f}" for guess in guesses)
    yield filled.text


CLASSIFY_EXAMPLES = """
[bold]Examples[/bold]
  limelight classify --model runs/language < input.txt > labels.tsv
  limelight classify --model runs/language input.txt.gz --json -o out.jsonl
  echo "Where are you?" | limelight classify --model runs/language
"""


@command("classify", CLASSIFY_EXAMPLES, "Give a smaller --batch-tokens, or split very long lines")
def classify(
    file: options.Text = None,
    model: options.OneModel = None,
    output: options.Output = None,
    as_json: options.AsJsonLines = False,
    batch_tokens: options.BatchTokens = 16384,
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Classify each line: prints the label, a tab, and its probability."""
    folders, _ = find_models(model)
    lines = live_lines_of(file)
    with lines_to(output) as write:
        classifier = open_classifier(folders, Machine(device, threads))
        greet(file)
        for each in classifier.classify_stream(lines, batch_tokens=batch_tokens):
            if as_json:
                write(json.dumps(asdict(each), ensure_ascii=False))
            else:
                write(f"{each.label}\t{each.probability:.4f}")
