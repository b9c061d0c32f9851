"""`limelight classify`."""

import json
from dataclasses import asdict

from limelight.cli import options
from limelight.cli.input import greet, live_lines_of
from limelight.cli.models import Machine, find_models, open_classifier
from limelight.cli.output import lines_to

EXAMPLES = """
[bold]Examples[/bold]
  limelight classify --model runs/language < input.txt > labels.tsv
  limelight classify --model runs/language input.txt.gz --json -o out.jsonl
  echo "Where are you?" | limelight classify --model runs/language
"""
WITH_LESS_MEMORY = "Give a smaller --batch-tokens, or split very long lines"


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
