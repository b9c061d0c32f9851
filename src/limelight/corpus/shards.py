"""The files of a corpus: which there are, what stands in them, and what is written for each.

Text has a text on each line, JSONL an object, Parquet a row. A file has a name below the folder that it was found in,
and its translation has the same name in the folder of the results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from io import BufferedIOBase, BufferedReader, RawIOBase
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast
from urllib.parse import urlsplit

from limelight.errors import UserError
from limelight.files import as_json, cause, sha256
from limelight.formats.lines import scan_lines
from limelight.formats.opening import COMPRESSIONS, ArchiveReader, open_text, require_file, require_lasting, text_suffix
from limelight.text.pair import BadLine

FIELDS = ("text", "source")
"""Fields of an object that may hold the text, unless one is named."""
RESULT = "translation"
HTTP = ("http://", "https://")
STAMPS = (
    "ETag",
    "etag",
    "Content-MD5",
    "md5Hash",
    "LastModified",
    "Last-Modified",
    "last_modified",
    "updated",
    "mtime",
)
"""What file systems of fsspec call the version of a file, or the time of its last change."""
RESERVED = ("manifest.json", "report.json", ".shards")
"""Files about all results, which lie beside them."""
OWN = (".partial", ".skipped.jsonl")
"""Suffixes of the files that Limelight writes beside its results."""


class Item(NamedTuple):
    """A text and what it came in."""

    text: str
    record: dict[str, Any] | None = None
    """The object of a line of JSONL, or of a row."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A file to be translated."""

    path: str
    """The path of a local file, or a URL."""
    name: str
    """Below the folder of the results."""
    size: int
    """In bytes. Size and stamp detect a file that has changed."""
    stamp: str = ""
    """When it was last changed; of a URL what the server says of its version, if anything."""

    @property
    def kind(self) -> str:
        """`text`, `jsonl` or `parquet`."""
        suffix = text_suffix(self.name)
        return {".jsonl": "jsonl", ".parquet": "parquet"}.get(suffix, "text")

    def digest(self) -> str:
        """The SHA-256 of its content; of a URL the stamp. Raises `UserError` where it cannot be read."""
        if "://" in self.path:
            return self.stamp
        try:
            return sha256(Path(self.path))
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read: {cause(error).lower()}") from None


@dataclass(frozen=True, slots=True)
class Form:
    """Settings of the output."""

    field: str = ""
    """Where the text of an object is; empty takes the first of `FIELDS` that is there."""
    pairs: str = ""
    """`source` or `target`: pairs for training, of which the translation is that side."""

    def name_of(self, shard: Shard) -> str:
        """The name of its results."""
        if not self.pairs or shard.kind != "text":
            return shard.name
        ending = PurePosixPath(shard.name).suffix
        packed = ending if ending.lower() in COMPRESSIONS else ""
        return f"{shard.name.removesuffix(packed)}.tsv{packed}"

    def line(self, shard: Shard, item: Item, translation: str | None) -> str:
        """A line of the results, with its end. A text that was left out has an empty one in files of text, so that
        lines stay beside their sources; elsewhere it has none."""
        if shard.kind == "parquet":
            return json.dumps(translation) + "\n"  # for each row; they become a column when all are there
        if shard.kind == "text" and not self.pairs:
            return f"{translation or ''}\n"
        if translation is None or (self.pairs and not translation):
            return ""
        if shard.kind == "text":
            sides = (translation, item.text) if self.pairs == "source" else (item.text, translation)
            return "\t".join(side.replace("\t", " ").strip() for side in sides) + "\n"
        added = {RESULT: translation}
        if self.pairs:
            added = {"source": item.text, "target": item.text} | {self.pairs: translation}
        return as_json({**(item.record or {}), **added}) + "\n"


def find_shards(inputs: Sequence[str], part: tuple[int, int] = (1, 1)) -> list[Shard]:
    """The files that the inputs stand for, in the order of the inputs and of their names within a folder.

    Args:
        inputs: files, folders, which are searched to any depth, and URLs that fsspec knows.
        part: i and n take every n-th file, beginning with the i-th.

    Raises `UserError` for what is not there, and for two files whose results would have one name.
    """
    found: list[Shard] = []
    for given in inputs:
        if "://" in given:
            found += _remote(given)
        elif Path(given).is_dir():
            folder = Path(given)
            files = [
                path for path in sorted(folder.rglob("*")) if path.is_file() and _is_input(path.relative_to(folder))
            ]
            if not files:
                raise UserError(f"{given}: there are no files in this folder")
            found += [_local(path, path.relative_to(folder).as_posix()) for path in files]
        else:
            require_file(Path(given))
            require_lasting([given])
            found.append(_local(Path(given), Path(given).name))
    named: dict[str, str] = {}
    for shard in found:
        if shard.name in named:
            raise UserError(
                f"{shard.path} and {named[shard.name]}: the results of both would be {shard.name}; give the folder "
                "that both are in, or translate them into folders of their own"
            )
        if shard.name.partition("/")[0] in RESERVED:
            raise UserError(
                f"{shard.path}: its results would be {shard.name}, which is the name of a file about all results; "
                "rename it, or give the folder above it"
            )
        named[shard.name] = shard.path
        if shard.kind == "parquet":
            _require("pyarrow", shard.path)
    return found[part[0] - 1 :: part[1]]


def _is_input(name: PurePath) -> bool:
    """Whether a file below a folder is an input: neither hidden nor written by Limelight beside its results."""
    return not name.name.endswith(OWN) and not any(part.startswith(".") for part in name.parts)


def _local(path: Path, name: str) -> Shard:
    found = path.stat()
    return Shard(str(path), name, found.st_size, str(found.st_mtime_ns))


def require_text_kept(shards: Sequence[Shard], form: Form) -> None:
    """Raise `UserError` for a file with the text in a column, or field, that the translation would replace."""
    column = form.pairs or RESULT
    if column not in ([form.field] if form.field else FIELDS):
        return
    for shard in shards:
        lost = shard.kind == "jsonl" and not form.pairs  # a pair of JSONL has both sides
        if shard.kind == "parquet":
            from limelight.formats.columns import columns_of

            with suppress(UserError):  # a damaged file is reported when it is read
                lost = column in columns_of(shard.path, remote_file(shard.path))
        if lost:
            option = f"--pairs {form.pairs}" if form.pairs else f"--field {form.field}"
            raise UserError(
                f"{shard.path}: {option} would replace the column {column!r}, which has the text, by the translation; "
                "rename it, and name the new one with --field"
            )


def read_items(shard: Shard, form: Form) -> Iterator[Item | BadLine]:
    """One item for each line or row: the text, or what is wrong with it. Raises `UserError` for a file that cannot be
    read at all."""
    with _told(shard.path):
        yield from _items(shard, form)


def _items(shard: Shard, form: Form) -> Iterator[Item | BadLine]:
    if shard.kind == "parquet":
        from limelight.formats.columns import read_rows

        rows = read_rows(shard.path, [form.field] if form.field else FIELDS, remote_file(shard.path))
        for number, record in enumerate(rows, start=1):
            yield _of_record(record, form, shard.path, number)
        return
    with _opened(shard) as stream:
        for number, line in enumerate(scan_lines(stream, shard.path), start=1):
            if isinstance(line, BadLine) or shard.kind == "text":
                yield line if isinstance(line, BadLine) else Item(line)
            else:
                yield _of_json(line, form, shard.path, number)


def _of_json(line: str, form: Form, path: str, number: int) -> Item | BadLine:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return BadLine(path, number, f"not valid JSON ({error})")
    if not isinstance(record, dict):
        return BadLine(path, number, "not a JSON object")
    return _of_record(record, form, path, number)


def _of_record(record: dict[str, Any], form: Form, path: str, number: int) -> Item | BadLine:
    names = [form.field] if form.field else [name for name in FIELDS if name in record]
    text = record.get(names[0]) if names else None
    if not isinstance(text, str):
        wanted = repr(form.field) if form.field else " or ".join(map(repr, FIELDS))
        return BadLine(path, number, f"there is no text under {wanted}; --field names another")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return BadLine(path, number, "the text holds a NUL character or half of a surrogate pair")
    return Item(text, record)


def _opened(shard: Shard) -> BufferedIOBase:
    """A file as bytes, decompressed by its last suffix."""
    if "://" not in shard.path:
        return open_text(shard.path)
    suffix = PurePosixPath(shard.name).suffix.lower()
    # One stream: not every server of HTTP gives parts of a file, which fsspec asks for otherwise.
    raw = cast(BinaryIO, remote_file(shard.path, **({"block_size": 0} if shard.path.startswith(HTTP) else {})))
    if suffix in COMPRESSIONS:
        return BufferedReader(ArchiveReader(Path(shard.name), suffix, file=raw))
    return BufferedReader(cast(RawIOBase, raw))  # fsspec's own `readline` takes no limit


def remote_file(path: str, **how: Any) -> BinaryIO | None:
    """The file of a URL, opened; None for a path."""
    if "://" not in path:
        return None
    import fsspec

    return cast(BinaryIO, fsspec.open(path, "rb", **how).open())


@contextmanager
def _told(place: str) -> Iterator[None]:
    """A context that turns the errors of a remote place, of which each file system has its own, into `UserError`."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        if "://" not in place:
            raise
        # "Not found" of fsspec's HTTP has the true reason as its cause, such as a host that is not reachable.
        cause = error.__cause__ if isinstance(error, FileNotFoundError) else error
        if cause is None or isinstance(cause, FileNotFoundError):
            raise UserError(f"{place}: not found") from None
        raise UserError(f"{place}: cannot be read: {str(cause) or type(cause).__name__}") from None


def _remote(url: str) -> list[Shard]:
    """The files of a URL: one, those of a pattern, or those of a folder."""
    _require("fsspec", url)
    import fsspec

    if urlsplit(url).password:
        shown = url.replace(urlsplit(url).netloc.rpartition("@")[0], "...")
        raise UserError(
            f"{shown}: this URL has a password, which messages and results would repeat; give it in fsspec's "
            "configuration (~/.config/fsspec/conf.json)"
        )

    with _told(url):
        system, root = fsspec.core.url_to_fs(url)
        if "*" in root:
            names = sorted(system.glob(root))
        else:
            names = [root] if not root.endswith("/") and system.isfile(root) else sorted(system.find(root))
        if not names:
            system.info(root.partition("*")[0])  # which may know why
            raise UserError(f"{url}: there are no files")
        folder = root.partition("*")[0].rpartition("/")[0] if "*" in root or names == [root] else root.rstrip("/")
        return [
            Shard(system.unstrip_protocol(name), _below(name, folder, url), *_state_of(system.info(name)))
            for name in names
            if _is_input(PurePosixPath(_below(name, folder, url)))
        ]


def _state_of(info: Mapping[str, Any]) -> tuple[int, str]:
    """The size of a remote file, and what its file system says of its version, if anything."""
    return int(info.get("size") or 0), "; ".join(f"{name} {info[name]}" for name in STAMPS if info.get(name))


def _below(name: str, folder: str, url: str) -> str:
    """The name of a file below its folder. Raises `UserError` where it would lie elsewhere."""
    below = name.removeprefix(folder).lstrip("/")
    if not below or "://" in below or ".." in PurePosixPath(below).parts:
        raise UserError(f"{url}: {name} does not lie in {folder}; name the files one by one")
    return below


def _require(package: str, place: str) -> None:
    if find_spec(package) is None:
        raise UserError(f"{place}: this needs {package}: pip install 'limelight[corpus]'")
