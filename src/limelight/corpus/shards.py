"""The files of a corpus: which there are, what stands in them, and what is written for each.

Text has a text on each line, JSONL an object, Parquet a row. A file has a name below the folder that it was found in,
and its translation has the same name in the folder of the results.
"""

import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from limelight.errors import UserError
from limelight.files import as_json, visible
from limelight.formats.lines import scan_lines
from limelight.formats.opening import open_text, require_file, require_lasting, text_suffix
from limelight.formats.registry import DOCUMENT_SUFFIXES, suffix_of
from limelight.text.pair import NO_TEXT, BadLine

FIELDS = ("text", "source")
"""Fields of an object that may hold the text, unless one is named."""
RESULT = "translation"
RESERVED = ("report.json", ".shards")
"""Files about all results, which lie beside them."""
OWN = (".partial", ".skipped.jsonl")
"""Suffixes of the files that Limelight writes beside its results."""


class Item(NamedTuple):
    """A text and what it came in."""

    text: str
    record: Any = None
    """The object of a line of JSONL, or of a row."""
    fault: str = ""
    """Why there is no text."""


class Shard(NamedTuple):
    """A file to be translated."""

    path: Path
    name: str
    """Below the folder of the results."""

    @property
    def kind(self) -> str:
        """`text`, `jsonl` or `parquet`."""
        suffix = text_suffix(self.name)
        return {".jsonl": "jsonl", ".parquet": "parquet"}.get(suffix, "text")

    def line(self, item: Item, translation: str | None) -> str:
        """A line of the results, with its end. A text that was left out has an empty one in files of text, so that
        lines stay beside their sources; elsewhere it has none."""
        if self.kind == "parquet":
            return json.dumps(translation) + "\n"  # for each row; they become a column when all are there
        if self.kind == "text":
            return f"{translation or ''}\n"
        return "" if translation is None else as_json({**item.record, RESULT: translation}) + "\n"


def find_shards(inputs: Sequence[str]) -> list[Shard]:
    """The files that the inputs stand for, in the order of the inputs and of their names within a folder.

    Args:
        inputs: files, and folders, which are searched to any depth.

    Raises `UserError` for what is not there, for documents, and for two files whose results would have one name.
    """
    by_name: dict[str, Shard] = {}
    for shard in (shard for name in inputs for shard in _expanded(name)):
        if suffix_of(shard.name) in DOCUMENT_SUFFIXES:
            raise UserError(
                f"{shard.path}: is a document, whose markup would be translated with its lines; translate it alone (-o "
                "FILE), or the folder that it is in, without --workers, --engine and --field (-o "
                "FOLDER); of a corpus name the other files instead of the folder, and JSON Lines .jsonl"
            )
        if shard.name in by_name or shard.name.partition("/")[0] in RESERVED:
            owner = by_name[shard.name].path if shard.name in by_name else "a report about all results"
            raise UserError(
                f"{shard.path}: its results would be {shard.name}, as {owner}; rename it, give the folder above it, or "
                "translate it into a folder of its own"
            )
        by_name[shard.name] = shard
        if shard.kind == "parquet" and find_spec("pyarrow") is None:
            raise UserError(f"{shard.path}: this needs pyarrow: pip install 'limelight[corpus]'")
    return list(by_name.values())


def _expanded(argument: str) -> list[Shard]:
    """The files of one input."""
    path = Path(argument)
    if not path.is_dir():
        require_file(path)
        require_lasting([argument])
        return [Shard(path, path.name)]
    found = visible(path)
    if link := next((file for file in found if file.is_symlink() and file.is_dir()), None):
        raise UserError(f"{link}: a link to a folder, which is not followed; name the folder as an input, or remove it")
    files = [file for file in found if file.is_file() and not file.name.endswith(OWN)]
    if not files:
        raise UserError(f"{argument}: there are no files in this folder")
    return [Shard(file, file.relative_to(path).as_posix()) for file in files]


def read_items(shard: Shard, field: str) -> Iterator[Item]:
    """One item for each line or row. `field` is the field of an object with the text; empty takes the first of
    `FIELDS` that is there. Raises `UserError` for a file that cannot be read at all."""
    if shard.kind == "parquet":
        from limelight.formats.columns import read_rows

        for record in read_rows(str(shard.path), [field] if field else FIELDS):
            yield _of_record(record, field, shard)
        return
    with open_text(shard.path) as stream:
        for line in scan_lines(stream, str(shard.path)):
            if isinstance(line, BadLine):
                yield Item("", fault=line.reason)
            elif shard.kind == "text":
                yield Item(line)
            else:
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    yield Item("", fault=f"not valid JSON ({error})")
                else:
                    yield _of_record(record, field, shard)


def _of_record(record: Any, field: str, shard: Shard) -> Item:
    """The text of an object. Raises `UserError` if the translation would replace it."""
    if not isinstance(record, dict):
        return Item("", fault="not a JSON object")
    name = field or next((name for name in FIELDS if name in record), "")
    text = record.get(name)
    if not isinstance(text, str):
        wanted = repr(field) if field else " or ".join(map(repr, FIELDS))
        return Item("", fault=f"there is no text under {wanted}; --field names another")
    if name == RESULT:
        raise UserError(f"{shard.path}: the translation would replace the text, {name!r}; rename it, and use --field")
    if NO_TEXT.search(text):
        return Item("", fault="the text holds a NUL character or half of a surrogate pair")
    return Item(text, record)
