"""What the card of the bundled model counts beside BLEU: names kept, and openings and closings of letters.

The names and the sentences around them (`box_samples/named.tsv`) are in no text that the model was trained on. The
phrases with all their right translations (`box_samples/letters.tsv`) were written before the training; some of them are
so usual that the training text has them, and are counted apart.
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
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


def letters_table(translator: Translator, training_text: Iterable[str]) -> str:
    """How many phrases of letters have one of their right translations, how many of those that are no line of the
    training text, and what the others became."""
    known = set(map(_plain, training_text))
    counts: dict[str, Counter[str]] = {}
    wrong: dict[str, list[str]] = {}
    for direction, text, accepted in _rows("letters.tsv"):
        source, target = direction.split("-")
        output = translator.translate(text, source_lang=source, target_lang=target).text
        is_right = _plain(output) in map(_plain, accepted.split("|"))
        kinds = ("all", "new") if _plain(text) not in known else ("all",)
        count = counts.setdefault(direction, Counter())
        for kind in kinds:
            count[kind] += 1
            count[f"{kind} right"] += is_right
        if not is_right:
            wrong.setdefault(direction, []).append(f"{text} → {output}".replace("|", "\\|"))
    rows = [
        (
            name,
            *(f"{count[f'{kind} right']}/{count[kind]}" for kind in ("all", "new")),
            "; ".join(wrong.get(name, ())),
        )
        for name, count in counts.items()
    ]
    return table(("direction", "right", "not in the training text", "the others"), rows)


def _rows(name: str) -> Iterator[list[str]]:
    return (line.split("\t") for line in read_lines(SAMPLES / name))


def _plain(text: str) -> str:
    """The text without case, punctuation and kinds of spaces."""
    letters = (character for character in text.casefold() if not unicodedata.category(character).startswith("P"))
    return " ".join("".join(letters).split())
