"""CSV tables: the names of their columns, quotes, and rows that are none."""

from pathlib import Path

import pytest

from tests.formats.files import read, sides, write


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_are_found_by_their_names(delimiter: str, end: str, tmp_path: Path) -> None:
    rows = [["id", "DE", "en-US", "fr", "note"], ["1", "b,b;b", "a", "c", ""], ["2", 'sie sagt ""ja""', "she", "x", ""]]
    quoted = [[f'"{cell}"' if set(cell) & set(',;"') else cell for cell in row] for row in rows]
    path = write(tmp_path, "a.csv", "\ufeff" + "".join(delimiter.join(row) + end for row in quoted))
    assert sides(path, "en", "de") == [("a", "b,b;b"), ("she", 'sie sagt "ja"')]
    assert sides(path, "de", "fr") == [("b,b;b", "c"), ('sie sagt "ja"', "x")]
    assert "has more than two languages: DE, en-US, fr" in read(path, "", "")[3]


@pytest.mark.parametrize("header", ["source,target", "Target,x,SOURCE", "text,label"])
def test_columns_may_be_named_by_their_sides(header: str, tmp_path: Path) -> None:
    cells = {"source": "a", "text": "a", "target": "b", "label": "b", "x": "x"}
    row = ",".join(cells[name.lower()] for name in header.split(","))
    path = write(tmp_path, "a.csv", f"{header}\n{row}\n")
    assert sides(path) == sides(path, "en", "de") == [("a", "b")]


@pytest.mark.parametrize("header", ["A lamp.,Eine Lampe.", "en", "id,en", "Sentence,Translation", ""])
def test_a_table_without_such_names_is_refused(header: str, tmp_path: Path) -> None:
    error = read(write(tmp_path, "a.csv", f"{header}\na,b\n"))[3]
    assert "a.csv:1: the first line of a CSV table has to name its columns: source and target, or languages" in error
    assert error.endswith("here it is: " + header.replace(",", ", "))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (b"a", "the number of cells differs from that of the first line (1, not 2)"),
        (b"a,b,c", "the number of cells differs"),
    ],
)
def test_a_wrong_row_is_left_out(row: bytes, reason: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", b"en,de\nc,d\n" + row + b"\ne,f\n")
    pairs, bad, _, error = read(path)
    assert ([(pair.source, pair.line) for pair in pairs], error) == ([("c", 2), ("e", 4)], "")
    [found] = bad
    assert (found.line, found.reason[: len(reason)]) == (3, reason)


@pytest.mark.parametrize("row", [b'"a"x,b', b"\xff,b", b"a\0,b"])
def test_what_is_not_a_table_is_an_error(row: bytes, tmp_path: Path) -> None:
    pairs, bad, _, error = read(write(tmp_path, "a.csv", b"en,de\nc,d\n" + row + b"\ne,f\n"))
    assert (len(pairs), bad) == (1, [])
    assert "a.csv:3: " in error


def test_a_first_line_that_is_no_row_is_an_error(tmp_path: Path) -> None:
    assert "a.csv:1: not a row of CSV" in read(write(tmp_path, "a.csv", b"x" * 140_000 + b"\na,b\n"))[3]


@pytest.mark.parametrize("rows", [1, 20_000])
def test_a_quote_without_an_end_stops_with_the_row_where_it_begins(rows: int, tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'en,de\na,b\n"c,d\n' + "eeeee,fffff\n" * rows)
    pairs, bad, _, error = read(path)
    assert ([pair.source for pair in pairs], bad) == (["a"], [])
    assert "a.csv:3: not a row of CSV (" in error
    assert error.endswith("is a quote missing?")
