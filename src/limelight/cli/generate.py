"""`limelight generate`, `fill` and `classify`, for models that do not translate."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from limelight.cli import options
from limelight.cli.arguments import argument, flag, option
from limelight.cli.models import Machine, find_models, open_model
from limelight.cli.outcome import command
from limelight.cli.output import SENTENCES, greet, lines_to, live_lines_of, stdin_lines, text_to, valid_text
from limelight.errors import UserError

EXAMPLES = """
  limelight generate --model runs/plays "ROMEO:"
  limelight generate --model runs/plays "ROMEO:" --samples 3 --seed 7
  limelight generate --model runs/plays --temperature 0.5 < act.txt
  limelight generate --model runs/plays "ROMEO:" --greedy --stop "JULIET:"
  limelight generate --model runs/plays "" --max-tokens 10000 -o play.txt
"""
TEMPERATURE = 0.8
"""The default temperature: below 1, so that improbable tokens are rare, and texts still differ."""


@command("generate", EXAMPLES)
def generate(
    *,
    prompt: str | None = argument("Text to continue. Default, or for -: standard input.", "PROMPT"),
    model: options.Words = options.OWN_MODEL,
    samples: int = option("Number of texts to generate for the prompt.", "N", 1, min=1),
    max_tokens: int = option("Maximum number of tokens per text.", "N", 500, min=1),
    stop: options.Words = option("Stop before this text. Can be repeated.", "TEXT"),
    output: options.Files = options.OUTPUT,
    as_json: bool = options.AS_JSON_LINES,
    precision: options.Precision = options.PRECISION,
    greedy: bool = flag("Take the most probable token at every step instead of sampling.", panel=options.SAMPLING),
    drawing: options.Drawing,
    machine: Machine,
) -> None:
    """Continue a prompt with a language model, by sampling (temperature 0.8 by default)."""
    if greedy and samples > 1:
        raise UserError(f"--samples {samples}: with --greedy all would be the same; leave out one or the other")
    sampling = drawing.sampling(
        sample=not greedy, why="--greedy does not sample; leave one of them out", temperature=TEMPERATURE
    )
    folders, _ = find_models(model)
    begin = _prompt(prompt)
    with text_to(output) as write:
        generator = open_model("load_generator", folders, machine, precision)
        how = {"max_tokens": max_tokens, "sampling": sampling, "stop": stop or ()}
        if samples == 1 and not as_json:
            texts = generator.stream(begin, **how)
            write(begin + next(texts, ""))
            try:
                for text in texts:
                    write(text)
            finally:
                write("\n")  # also if it was interrupted
            return
        for number, generation in enumerate(generator.generate(begin, samples=samples, **how), start=1):
            heading = f"--- {number} of {samples} ---\n{begin}"
            write((_json(generation) if as_json else heading + generation.text) + "\n")


def _json(result: Any) -> str:
    return json.dumps(asdict(result), ensure_ascii=False)


def _prompt(argument: str | None) -> str:
    """The prompt, without the final line end that a shell or an editor adds."""
    if argument is None or argument == "-":
        greet("The text to continue")
        return "\n".join(stdin_lines())
    return valid_text(argument)


FILL_EXAMPLES = """
  limelight fill --model runs/captions "A man is [MASK] a ball."
  limelight fill --model runs/captions "A [MASK] on the [MASK]." --top 3
  limelight fill --model runs/captions --json < masked.txt > filled.jsonl
"""


@command("fill", FILL_EXAMPLES)
def fill(
    *,
    text: str | None = argument("A text with [MASK] tokens. Default: lines of standard input.", "TEXT"),
    model: options.Words = options.OWN_MODEL,
    top: int = option("Number of predictions per mask.", "N", 5, min=1),
    as_json: bool = options.AS_JSON_LINES,
    output: options.Files = options.OUTPUT,
    machine: Machine,
) -> None:
    """Predict the token at each [MASK] of a text, with a masked language model (recipe bert-tiny)."""
    folders, _ = find_models(model)
    texts = stdin_lines() if text is None else iter([valid_text(text)])
    with lines_to(output) as write:
        filler = open_model("load_mask_filler", folders, machine)
        if text is None:
            greet(SENTENCES)
        for number, line in enumerate(texts, start=1):
            try:
                filled = filler.fill(line, top=top)
            except UserError as error:
                raise UserError(f"line {number}: {error}") from None
            if as_json:
                write(_json(filled))
                continue
            for mask, guesses in enumerate(filled.masks, start=1):
                listed = "  ".join(f"{guess.text} {guess.probability:.4f}" for guess in guesses)
                write(f"[MASK] {mask}: {listed}")
            write(filled.text)


CLASSIFY_EXAMPLES = """
  limelight classify --model runs/language < input.txt > labels.tsv
  limelight classify --model runs/language input.txt.gz --json -o out.jsonl
  echo "Where are you?" | limelight classify --model runs/language
"""


@command("classify", CLASSIFY_EXAMPLES)
def classify(
    *,
    file: Path | None = argument("Text, one sentence per line; also .gz, .xz, .zst. Default: standard input.", "FILE"),
    model: options.Words = options.OWN_MODEL,
    output: options.Files = options.OUTPUT,
    as_json: bool = options.AS_JSON_LINES,
    batch_tokens: int = options.BATCH_TOKENS,
    machine: Machine,
) -> None:
    """Print the label that a classifier gives to each line, a tab, and the probability of the label.

    A classifier is trained on labeled text, lines of `text TAB label`:
    `limelight train --train labels.tsv --valid more.tsv --recipe classifier --out RUN`.
    """
    folders, _ = find_models(model)
    lines = live_lines_of(file)
    with lines_to(output, filter(None, [file])) as write:
        classifier = open_model("load_classifier", folders, machine)
        if file is None:
            greet(SENTENCES)
        for classified in classifier.classify_stream(lines, batch_tokens=batch_tokens):
            write(_json(classified) if as_json else f"{classified.label}\t{classified.probability:.4f}")
