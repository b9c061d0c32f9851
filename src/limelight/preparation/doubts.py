"""Warnings about parallel text that is readable but suspicious: other columns than intended, a header, quotes, other
languages.

Only the beginning of a file is examined, and only certain findings are reported. The text is used all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from limelight.formats import names_languages, read_pairs
from limelight.formats.lines import scan_lines
from limelight.formats.opening import open_text, text_suffix
from limelight.text.judge import contradiction
from limelight.text.languages import normal_code
from limelight.text.pair import BadLine, Pair

SAMPLE = 1000
"""Lines from the beginning of a file."""
WORDLESS = 0.9
"""Minimum share of texts without words for which a side is suspicious."""

IDENTICAL = "for a task whose sides may be equal, such as copying: limelight train --set data.drop_identical=false"
"""The remedy for a text of equal sides."""
_HEADERS = (
    "source target src tgt trg source_text target_text sourcetext targettext source_lang target_lang text label id "
    "date sentence translation original english german french spanish italian portuguese dutch russian chinese "
    "japanese deutsch englisch französisch français anglais español inglés quelle ziel"
)
"""Words that are common as column names, and rare as a whole line of text."""


def doubts(
    files: Sequence[str | Path], source: str, target: str, *, languages: bool = True, column: str = ""
) -> Iterator[str]:
    """A line for each finding about a corpus: `file: finding; remedy`. Languages are compared with the declared ones
    unless `languages` is false. A further `column` is one that is used.

    `source` and `target` are the declared languages, or columns as in `read_pairs`; empty texts and words that are not
    language codes are not checked.
    Raises `UserError` as `read_pairs` does if a file cannot be read at all.
    """
    pairs = list(islice(read_pairs(files, source, target, on_bad_line=_pass_over), SAMPLE))
    name = " + ".join(map(str, files))
    named = source.startswith("#")  # columns
    if len(files) == 1 and text_suffix(files[0]) == ".tsv" and not column and not named:
        yield from _of_columns(Path(files[0]))
    if pairs and not named and not names_languages(files) and _is_header(pairs[0], (source, target)):
        first = pairs[0]
        yield (
            f"{first.place}: looks like a header ({_short(first.source)} | {_short(first.target)}), and is used as a "
            "pair; remove the line"
        )
        pairs = pairs[1:]
    yield from _of_quotes(pairs, name)
    yield from _of_words(pairs, name)
    yield from _of_segments(pairs, name)
    if languages:
        yield from of_languages(pairs, name, source, target)


def _pass_over(_line: BadLine) -> None:
    """Ignore a bad line: the reader of the whole text reports it."""


def _of_columns(file: Path) -> Iterator[str]:
    with open_text(file) as stream:
        lines = [
            line for line in islice(scan_lines(stream, str(file)), SAMPLE) if isinstance(line, str) and "\t" in line
        ]
    more = [line.split("\t") for line in lines if line.rstrip("\t\r").count("\t") > 1]
    if len(more) > len(lines) / 2:
        columns = more[0]
        yield (
            f"{file}: has {len(columns)} columns, of which the first two are read: source `{_short(columns[0])}`, "
            f"target `{_short(columns[1])}`; if these are others, name them after the file, such as {file}:3,1"
        )


def _is_header(first: Pair, languages: tuple[str, str]) -> bool:
    known = set(_HEADERS.split()) | {each.lower() for each in languages} | {normal_code(each) for each in languages}
    return all(side.strip().strip('"').lower() in known for side in (first.source, first.target))


def _of_quotes(pairs: Sequence[Pair], name: str) -> Iterator[str]:
    fields = [side.strip() for pair in pairs for side in (pair.source, pair.target) if side.strip()]
    quoted = [field for field in fields if len(field) > 1 and field[0] == field[-1] == '"']
    if len(fields) > 2 and len(quoted) == len(fields):
        yield (
            f"{name}: every text is enclosed in quotes, which are read as part of it; write the file without quotes, "
            "or each translation will have them"
        )
    elif any('""' in field[1:-1] for field in quoted):
        example = next(field for field in quoted if '""' in field[1:-1])
        yield (
            f"{name}: has quotes as spreadsheets write them ({_short(example)}), which are read as part of the text; "
            "write the file without quoting"
        )


def _of_words(pairs: Sequence[Pair], name: str) -> Iterator[str]:
    for side in ("source", "target"):
        texts = [text for pair in pairs if (text := getattr(pair, side).strip())]
        wordless = [text for text in texts if not any(map(str.isalpha, text))]
        if len(texts) > 2 and len(wordless) >= WORDLESS * len(texts):
            yield f"{name}: the {side} side has no words (`{_short(wordless[0])}`); is it another column?"


def _of_segments(pairs: Sequence[Pair], name: str) -> Iterator[str]:
    """A line if most texts are divided into pieces of words already."""
    texts = [text for pair in pairs for text in (pair.source, pair.target)]
    for mark, remedy in (("\u2581", "tr -d ' ' | tr '\u2581' ' '"), ("@@ ", "sed 's/@@ //g'")):
        if sum(mark in text for text in texts) > len(texts) / 2:
            yield (
                f"{name}: is divided into pieces of words already (`{_short(texts[0])}`), which the run divides again; "
                f"give the text itself, for example the output of `{remedy}`"
            )


def of_languages(pairs: Sequence[Pair], name: str, source: str, target: str) -> Iterator[str]:
    """A line if a side of a sample cannot be in its declared language."""
    sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
    said = (("source", source, sides[0]), ("target", target, sides[1]))
    faults = [f"the {side} side, said to be {code}, {fault}" for side, code, texts in said
              if (fault := contradiction(texts, code))]  # fmt: skip
    if not faults:
        return
    swapped = len(faults) == 2 and not contradiction(sides[0], target) and not contradiction(sides[1], source)
    advice = "are the sides swapped?" if swapped else "give --source and --target as they are, or other files"
    yield f"{name}: {'; '.join(faults)}; {advice}"


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
