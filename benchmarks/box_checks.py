"""What the card of the bundled model counts beside BLEU: names kept, and openings and closings of letters.

The names and the sentences around them (`box_samples/named.tsv`) and the phrases with all their right translations
(`box_samples/letters.tsv`) were written before the training, and are in no text that the model was trained on.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from benchmarks.box_text import Direction
from benchmarks.common import table
from limelight.formats import read_lines
from limelight.pipelines.translator import Translator

SAMPLES = Path(__file__).parent / "box_samples"
Sentence = tuple[str, str]
"""A text, and what its translation has to contain."""


def named_sentences(language: str) -> Iterator[Sentence]:
    """Each name in a sentence for its kind."""
    of_kind: dict[str, list[str]] = {}
    for written_in, kind, text in _rows("named.tsv"):
        if written_in == language:
            of_kind.setdefault(kind, []).append(text)
    sentences = {kind: cycle(texts) for kind, texts in of_kind.items()}
    for kind, name in _rows("names.tsv"):
        yield next(sentences[kind]).replace("{}", name), name


def names_table(translator: Translator, directions: tuple[Direction, ...]) -> str:
    """How many translations keep the name."""
    rows = []
    for source, target in directions:
        texts, names = zip(*named_sentences(source), strict=True)
        outputs = translator.translate(list(texts), source_lang=source, target_lang=target)
        kept = sum(name in output.text for name, output in zip(names, outputs, strict=True))
        rows.append((f"{source}-{target}", f"{kept}/{len(names)}"))
    return table(("direction", "names kept"), rows)


def letters_table(translator: Translator) -> str:
    """How many phrases of letters have one of their right translations, and what the others became."""
    right: Counter[str] = Counter()
    count: Counter[str] = Counter()
    wrong: dict[str, list[str]] = {}
    for direction, text, accepted in _rows("letters.tsv"):
        source, target = direction.split("-")
        output = translator.translate(text, source_lang=source, target_lang=target).text
        is_right = _plain(output) in map(_plain, accepted.split("|"))
        right[direction] += is_right
        count[direction] += 1
        if not is_right:
            wrong.setdefault(direction, []).append(f"{text} → {output}".replace("|", "\\|"))
    rows = [(name, f"{right[name]}/{count[name]}", "; ".join(wrong.get(name, ()))) for name in count]
    return table(("direction", "right", "the others"), rows)


def _rows(name: str) -> Iterator[list[str]]:
    return (line.split("\t") for line in read_lines(SAMPLES / name))


def _plain(text: str) -> str:
    """The text without case, punctuation and kinds of spaces."""
    letters = (character for character in text.casefold() if not unicodedata.category(character).startswith("P"))
    return " ".join("".join(letters).split())
