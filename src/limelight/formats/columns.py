"""Rows of Parquet and Arrow files, as datasets of Hugging Face are stored, and rows with a column more."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as arrow
from pyarrow import parquet

from limelight.errors import UserError

ROWS = 1000
"""Number of rows in memory."""


def read_rows(path: str, fields: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """The rows of a file, without empty cells; of `fields` those that it has. Raises `UserError` for another file."""
    if path.lower().endswith(".arrow"):
        with _naming_errors(path), arrow.memory_map(path) as source, _open_arrow(source) as batches:
            for batch in batches:
                yield from map(_without_empty, batch.to_pylist())
        return
    with _naming_errors(path), parquet.ParquetFile(path) as rows:
        names = [name for name in rows.schema_arrow.names if not fields or name in fields]
        for batch in rows.iter_batches(ROWS, columns=names):
            yield from map(_without_empty, batch.to_pylist() if names else [{}] * batch.num_rows)


def _without_empty(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _open_arrow(source: Any) -> Any:
    """An Arrow stream, as datasets are saved, or an Arrow file."""
    try:
        return arrow.ipc.open_stream(source)
    except arrow.ArrowInvalid:
        return arrow.ipc.open_file(source).read_all().to_reader()  # mapped; compressed ones are read as a whole


def write_rows(path: str, translations: Iterator[str | None], output: Path, column: str) -> None:
    """The rows of a file whose translation is not None, with the translations as a column."""
    with _naming_errors(path):
        rows = parquet.ParquetFile(path)
    with rows:
        names = [name for name in rows.schema_arrow.names if name != column]
        schema = arrow.schema([*(rows.schema_arrow.field(name) for name in names), arrow.field(column, arrow.string())])
        with parquet.ParquetWriter(output, schema) as writer:
            for batch in rows.iter_batches(ROWS, columns=names):
                values = list(islice(translations, batch.num_rows))
                table = arrow.Table.from_batches([batch]).append_column(column, arrow.array(values, arrow.string()))
                writer.write_table(table.filter(table[column].is_valid()).cast(schema))


@contextmanager
def _naming_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (arrow.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: this is not a file of rows that can be read: {error}") from None
