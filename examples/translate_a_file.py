"""Translate a file from Python, with the mean probability of a token of each line.

python examples/translate_a_file.py runs/en-de input.txt output.tsv

Each line of the output has the mean probability, TAB, the translation. Lines are read, translated and written in
chunks, so the file may have any size.
"""

import math
import sys
from pathlib import Path

import limelight
from limelight import Translation
from limelight.errors import UserError
from limelight.formats import read_lines


def mean_probability(translation: Translation) -> float:
    """The geometric mean of the probabilities of the tokens, the end token included; 1 for a blank line."""
    tokens = len(translation.tokens) + translation.finished
    return math.exp(translation.log_probability / max(1, tokens))


def translate_file(model: str, source: Path, output: Path) -> None:
    """Write the translations of `source` to `output`; truncated ones are listed on standard error."""
    translator = limelight.load(model)
    with open(output, "w", encoding="utf-8") as file:
        for number, translation in enumerate(translator.translate_stream(read_lines(source)), start=1):
            print(f"{mean_probability(translation):.2f}", translation.text, sep="\t", file=file)
            if not translation.finished:
                print(f"{source}:{number}: cut off at the length limit", file=sys.stderr)


if __name__ == "__main__":
    try:
        translate_file(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    except IndexError:
        sys.exit(__doc__)
    except UserError as error:
        sys.exit(f"translate_a_file: {error}")
