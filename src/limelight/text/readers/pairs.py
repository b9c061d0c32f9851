"""The door to parallel text: pairs from whatever files hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from limelight.errors import UserError
from limelight.text.open_text import COMPRESSIONS, require_file, text_suffix
from limelight.text.pair import BadLine, Pair
from limelight.text.readers.jsonl import scan_jsonl
from limelight.text.readers.moses import scan_moses
from limelight.text.readers.tsv import scan_tsv

_BOTH_SIDES = {".tsv": scan_tsv, ".jsonl": scan_jsonl}
"""Kinds of file that hold both sides."""


def read_pairs(files: Sequence[str | Path], *, on_bad_line: Callable[[BadLine], None] | None = None) -> Iterator[Pair]:
    """Pairs of parallel text, in the order of the files and without holding them in memory.

    One file holds both sides (.tsv: source TAB target; .jsonl: objects with `source` and `target`); two files are read
    line by line. Each may be compressed (.gz, .xz, .zst). A side may be empty: that is for `clean` to judge.

    Args:
        on_bad_line: called for each line that cannot be read (not valid UTF-8, NUL, over 1 MB, no TAB, no JSON object
            with both keys), which then is skipped with its partner; when not given, the first one raises.

    Raises:
        UserError: at once where a file is missing or of no known kind; while reading, at the first bad line, or at one
            that cannot be skipped alone: unequal numbers of lines, a damaged archive, a line of over 100 MB. Do not use
            what was read before that: the sides may have slipped anywhere, an archive's checksum stands at its end.
    """
    paths = [Path(file) for file in files]
    for path in paths:
        require_file(path)
    return _pairs(_scan(paths), on_bad_line)


def _scan(files: list[Path]) -> Iterator[Pair | BadLine]:
    suffixes = [text_suffix(file) for file in files]
    kinds = " or ".join(_BOTH_SIDES)
    if len(files) == 1:
        scan = _BOTH_SIDES.get(suffixes[0])
        if scan is None:
            raise UserError(
                f"{files[0]}: one file must hold both sides and be {kinds} (or that with {', '.join(COMPRESSIONS)}), "
                f"not {suffixes[0] or 'without a suffix'}; give two files to read them line by line"
            )
        return scan(files[0])
    if len(files) == 2:
        for file, suffix in zip(files, suffixes, strict=True):
            if suffix in _BOTH_SIDES:
                raise UserError(f"{file}: a {suffix} file holds both sides: give it alone, not as one of two files")
        return scan_moses(*files)
    raise UserError(f"{len(files)} files given; parallel text is one file ({kinds}) or two, read line by line")


def _pairs(scanned: Iterator[Pair | BadLine], on_bad_line: Callable[[BadLine], None] | None) -> Iterator[Pair]:
    for item in scanned:
        if isinstance(item, Pair):
            yield item
        elif on_bad_line is None or item.fatal:
            raise UserError(str(item))
        else:
            on_bad_line(item)
