"""Rows of Parquet files, and the same rows with a column more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as arrow
from pyarrow import parquet

from limelight.errors import UserError

ROWS = 1000
"""Number of rows in memory."""


def read_rows(path: str, fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The requested columns that a file has, row by row. Raises `UserError` if it is not a Parquet file."""
    with _opened(path) as file:
        names = [name for name in fields if name in file.schema_arrow.names]
        for batch in file.iter_batches(ROWS, columns=names):
            for row in batch.to_pylist() if names else [{}] * batch.num_rows:
                yield {name: value for name, value in row.items() if value is not None}


def columns_of(path: str) -> list[str]:
    """The names of the columns. Raises `UserError` where it is not a Parquet file."""
    with _opened(path) as file:
        return list(file.schema_arrow.names)


def write_rows(path: str, translations: Iterator[str | None], output: Path, column: str) -> None:
    """The rows of a file whose translation is not None, with the translations as a column."""
    with _opened(path) as file:
        names = [name for name in file.schema_arrow.names if name != column]
        schema = arrow.schema([*(file.schema_arrow.field(name) for name in names), arrow.field(column, arrow.string())])
        with parquet.ParquetWriter(output, schema) as writer:
            for batch in file.iter_batches(ROWS, columns=names):
                found = list(islice(translations, batch.num_rows))
                table = arrow.Table.from_batches([batch]).append_column(column, arrow.array(found, arrow.string()))
                writer.write_table(table.filter(table[column].is_valid()).cast(schema))


def _opened(path: str) -> parquet.ParquetFile:
    try:
        if "://" not in path:
            return parquet.ParquetFile(path)
        import fsspec

        return parquet.ParquetFile(fsspec.open(path, "rb").open())
    except (arrow.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: this is not a Parquet file that can be read: {error}") from None
