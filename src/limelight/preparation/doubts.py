"""Warnings about parallel text that is readable but suspicious: other columns than intended, a header, quotes, pieces
of words.

Only the beginning of a file is examined, and only certain findings are reported. The text is used all the same.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from limelight.errors import shown
from limelight.formats import names_languages, read_lines, read_pairs
from limelight.formats.opening import text_suffix
from limelight.preparation.read import silently
from limelight.text.languages import normal_code

SAMPLE = 1000
"""Lines from the beginning of a file."""
SHOWN = 40
"""Characters of a text in a message."""

IDENTICAL = "for a task whose sides may be equal, such as copying: limelight train --set data.drop_identical=false"
"""The remedy for a text of equal sides."""
_HEADERS = (
    "source target src tgt trg source_text target_text sourcetext targettext source_lang target_lang text label id "
    "date sentence translation original english german french spanish italian portuguese dutch russian chinese "
    "japanese deutsch englisch französisch français anglais español inglés quelle ziel"
)
"""Words that are common as column names, and rare as a whole line of text."""


def doubts(files: Sequence[str | Path], source: str, target: str) -> Iterator[str]:
    """A line for each finding about a corpus: `file: finding; remedy`.

    `source` and `target` are the declared languages, or columns as in `read_pairs`.
    Raises `UserError` as `read_pairs` does if a file cannot be read at all.
    """
    pairs = list(islice(read_pairs(files, source, target, on_bad_line=silently), SAMPLE))
    name = " + ".join(map(str, files))
    named = source.startswith("#")  # columns
    if len(files) == 1 and text_suffix(files[0]) == ".tsv" and not named:
        lines = islice(read_lines(files[0], silently), SAMPLE)
        rows = [line.rstrip("\r").split("\t") for line in lines if "\t" in line]
        wider = [row for row in rows if any(row[2:])]
        if len(wider) > len(rows) / 2:
            columns = wider[0]
            yield (
                f"{name}: has {len(columns)} columns, of which the first two are read: source "
                f"`{shown(columns[0], SHOWN)}`, target `{shown(columns[1], SHOWN)}`; if these are others, name them "
                f"after the file, such as {name}:3,1"
            )
    if pairs and not named and not names_languages(files):
        first, languages = pairs[0], (source, target)
        known = {*_HEADERS.split(), *map(str.lower, languages), *map(normal_code, languages)}
        if all(side.strip().strip('"').lower() in known - {""} for side in (first.source, first.target)):
            head = f"{shown(first.source, SHOWN)} | {shown(first.target, SHOWN)}"
            yield f"{first.place}: looks like a header ({head}), and is used as a pair; remove the line"
            pairs = pairs[1:]
    texts = [text for pair in pairs for side in (pair.source, pair.target) if (text := side.strip())]
    quoted = [text for text in texts if len(text) > 1 and text[0] == text[-1] == '"']
    if len(texts) > 2 and len(quoted) == len(texts):
        yield (
            f"{name}: texts are enclosed in quotes ({shown(quoted[0], SHOWN)}), which are read as part of them; write "
            "the file without quotes"
        )
    for mark, remedy in (("\u2581", "tr -d ' ' | tr '\u2581' ' '"), ("@@ ", "sed 's/@@ //g'")):
        if sum(mark in text for text in texts) > len(texts) / 2:
            yield (
                f"{name}: is divided into pieces of words already (`{shown(texts[0], SHOWN)}`), which the run divides "
                f"again; give the text itself, for example the output of `{remedy}`"
            )
