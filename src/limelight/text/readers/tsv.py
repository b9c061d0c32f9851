"""Pairs from one file, a pair a line: source TAB target, further columns ignored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from limelight.text.formats import refuse_table
from limelight.text.open_text import head_of, open_text
from limelight.text.pair import BadLine, Pair
from limelight.text.readers.lines import scan_lines


def scan_tsv(path: str | Path) -> Iterator[Pair | BadLine]:
    """One item for each line: the pair, or what is wrong with it. There is no quoting: a quote is a character.

    A blank line is a pair of two empty sides. Raises `UserError` for a table with other marks between its columns.
    """
    name = str(path)
    with open_text(path) as stream:
        refuse_table(Path(path), head_of(stream, Path(path)))
        for number, line in enumerate(scan_lines(stream, name), start=1):
            if isinstance(line, BadLine):
                yield line
                continue
            columns = line.split("\t", 2)
            if len(columns) < 2 and not line.strip():
                yield Pair("", "", name, number)
            elif len(columns) < 2:
                yield BadLine(name, number, "there is no TAB in this line; a .tsv line is source TAB target")
            elif len(columns) > 2 and "\r" in columns[1]:
                # The next pair would be taken for further columns, and lost without a word.
                yield BadLine(name, number, "a CR stands between columns; does a CR alone end the lines of this file?")
            else:
                yield Pair(columns[0], columns[1], name, number)
