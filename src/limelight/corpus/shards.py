"""The files of a corpus: which there are, what stands in them, and what is written for each.

Text has a text on each line, JSONL an object, Parquet a row. A file has a name below the folder that it was found in,
and its translation has the same name in the folder of the results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from limelight.errors import UserError
from limelight.files import as_json, cause, sha256
from limelight.formats.lines import scan_lines
from limelight.formats.opening import open_text, require_file, require_lasting, text_suffix
from limelight.text.pair import BadLine

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


@dataclass(frozen=True, slots=True)
class Shard:
    """A file to be translated."""

    path: str
    """The path of a local file, or a URL."""
    name: str
    """Below the folder of the results."""
    stamp: str = ""
    """Of a URL a hash of what its server says of the file, such as its version."""

    @property
    def kind(self) -> str:
        """`text`, `jsonl` or `parquet`."""
        suffix = text_suffix(self.name)
        return {".jsonl": "jsonl", ".parquet": "parquet"}.get(suffix, "text")

    def digest(self) -> str:
        """The SHA-256 of its content; of a URL the stamp. Raises `UserError` if it cannot be read."""
        try:
            return self.stamp or sha256(Path(self.path))
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read: {cause(error).lower()}") from None

    def local(self, copy: Path) -> Path:
        """The file on this machine: of a URL a copy. Raises `UserError` if that cannot be made."""
        if not self.stamp:
            return Path(self.path)
        try:
            copy.parent.mkdir(parents=True, exist_ok=True)
            system, root = _file_system(self.path)
            system.get_file(root, str(copy))
        except Exception as error:
            raise _unreadable(self.path, error) from None
        return copy

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
        inputs: files, folders, which are searched to any depth, and URLs that fsspec knows.

    Raises `UserError` for what is not there, and for two files whose results would have one name.
    """
    found: dict[str, Shard] = {}
    for shard in (shard for given in inputs for shard in _expanded(given)):
        if shard.name in found or shard.name.partition("/")[0] in RESERVED:
            owner = found[shard.name].path if shard.name in found else "a report about all results"
            raise UserError(
                f"{shard.path}: its results would be {shard.name}, as {owner}; rename it, give the folder above it, or "
                "translate it into a folder of its own"
            )
        found[shard.name] = shard
        if shard.kind == "parquet":
            _require("pyarrow", shard.path)
    return list(found.values())


def _expanded(given: str) -> list[Shard]:
    """The files of one input."""
    if "://" in given:
        return _remote(given)
    path = Path(given)
    if not path.is_dir():
        require_file(path)
        require_lasting([given])
        return [Shard(given, path.name)]
    names = [(each, each.relative_to(path)) for each in sorted(path.rglob("*")) if each.is_file()]
    shards = [Shard(str(each), name.as_posix()) for each, name in names if _is_input(name)]
    if not shards:
        raise UserError(f"{given}: there are no files in this folder")
    return shards


def _is_input(name: PurePath) -> bool:
    """Whether a file below a folder is an input: neither hidden nor written by Limelight beside its results."""
    return not name.name.endswith(OWN) and not any(part.startswith(".") for part in name.parts)


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, by fsspec, and the path in it."""
    import fsspec

    system, root = fsspec.core.url_to_fs(url)
    return system, str(root)


def _remote(url: str) -> list[Shard]:
    """The files of a URL: one, those of a pattern, or those of a folder."""
    _require("fsspec", url)
    if urlsplit(url).password:
        shown = url.replace(urlsplit(url).netloc.rpartition("@")[0], "...")
        raise UserError(f"{shown}: give the password in fsspec's configuration: messages and results repeat the URL")
    try:
        system, root = _file_system(url)
        if "*" in root:
            names = sorted(system.glob(root))
        else:
            names = [root] if not root.endswith("/") and system.isfile(root) else sorted(system.find(root))
        folder = root.partition("*")[0].rpartition("/")[0] if "*" in root or names == [root] else root.rstrip("/")
        if not names:
            system.info(root)  # it may know why
            raise FileNotFoundError
        shards = [
            Shard(system.unstrip_protocol(name), _below(name, folder, url), str(system.checksum(name)))
            for name in names
        ]
    except UserError:
        raise
    except Exception as error:
        raise _unreadable(url, error) from None
    return [shard for shard in shards if _is_input(PurePosixPath(shard.name))]


def _unreadable(place: str, error: Exception) -> UserError:
    """The error for a remote place, whose file system has exceptions of its own."""
    # "Not found" of fsspec's HTTP has the true reason as its cause, such as a host that is not reachable.
    reason = error.__cause__ if isinstance(error, FileNotFoundError) else error
    if reason is None or isinstance(reason, FileNotFoundError):
        return UserError(f"{place}: not found")
    return UserError(f"{place}: cannot be read: {str(reason) or type(reason).__name__}")


def _below(name: str, folder: str, url: str) -> str:
    """The name of a file below its folder. Raises `UserError` if it would lie elsewhere."""
    below = name.removeprefix(folder).lstrip("/")
    if not below or "://" in below or ".." in PurePosixPath(below).parts:
        raise UserError(f"{url}: {name} does not lie in {folder}; name the files one by one")
    return below


def _require(package: str, place: str) -> None:
    if find_spec(package) is None:
        raise UserError(f"{place}: this needs {package}: pip install 'limelight[corpus]'")


def read_items(shard: Shard, file: Path, field: str = "") -> Iterator[Item]:
    """One item for each line or row. `field` is that of an object with the text; empty takes the first of `FIELDS` that
    is there. Raises `UserError` for a file that cannot be read at all."""
    if shard.kind == "parquet":
        from limelight.formats.columns import read_rows

        for record in read_rows(str(file), [field] if field else FIELDS):
            yield _of_record(record, field, shard)
        return
    with open_text(file) as stream:
        for line in scan_lines(stream, shard.path):
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
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return Item("", fault="the text holds a NUL character or half of a surrogate pair")
    return Item(text, record)
