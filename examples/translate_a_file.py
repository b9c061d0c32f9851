"""Translate a file from Python, and say of each line how sure the model was.

python examples/translate_a_file.py runs/en-de input.txt output.tsv

Writes one line for each line read: the mean probability of a token, TAB, the translation. Lines are read, translated
and written a chunk at a time, so that a file of any size will do.
"""

import math
import sys
from pathlib import Path

import limelight
from limelight import Translation
from limelight.errors import UserError
from limelight.formats import read_lines


def sureness(translation: Translation) -> float:
    """The geometric mean of the pieces' probabilities, the end counted as one of them; 1 for a blank line."""
    pieces = len(translation.tokens) + translation.finished
    return math.exp(translation.log_probability / max(1, pieces))


def translate_file(model: str, source: Path, output: Path) -> None:
    """Write the translations of `source` to `output`; doubtful ones are named on standard error."""
    translator = limelight.load(model)
    with open(output, "w", encoding="utf-8") as file:
        for number, translation in enumerate(translator.translate_stream(read_lines(source)), start=1):
            sure = sureness(translation)
            print(f"{sure:.2f}", translation.text, sep="\t", file=file)
            if not translation.finished:
                print(f"{source}:{number}: cut off at the length limit", file=sys.stderr)


if __name__ == "__main__":
    try:
        translate_file(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
    except IndexError:
        sys.exit(__doc__)
    except UserError as error:
        sys.exit(f"translate_a_file: {error}")
