"""Pairs from parallel text in any format."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from limelight.errors import UserError, counted
from limelight.formats.lines import OnBadLine, scan_moses, without_bad
from limelight.formats.opening import (
    BOTH_SIDES,
    COMPRESSIONS,
    PIPES,
    ROWS,
    XLIFF,
    holds_both_sides,
    kind_of,
    require_file,
    require_there,
    text_suffix,
)
from limelight.formats.po import scan_po
from limelight.formats.qt import scan_qt
from limelight.formats.segments import Segment, pairs_of
from limelight.formats.tables import scan_csv, scan_json, scan_jsonl, scan_rows, scan_tsv
from limelight.formats.tmx import scan_tmx
from limelight.formats.xliff import scan_xliff
from limelight.text.pair import BadLine, Pair

_READERS: dict[str, Callable[..., Iterator[Segment | Pair | BadLine]]] = {
    ".tsv": scan_tsv,
    PIPES: partial(scan_tsv, separator=" ||| "),
    ".csv": scan_csv,
    ".jsonl": scan_jsonl,
    ".json": scan_json,
    **dict.fromkeys(ROWS, scan_rows),
    ".tmx": scan_tmx,
    **dict.fromkeys(XLIFF, scan_xliff),
    ".po": scan_po,
    ".ts": scan_qt,
}
"""Readers of files that hold both sides, by suffix."""

HEAD_LINES = 100
"""Lines from the beginning of a file that tell whether it names languages."""
FURTHER_COLUMNS = (".tsv", ".jsonl", ".csv", ".json", *ROWS)
"""Suffixes of files that may have columns beside the texts."""


def read_pairs(
    files: Sequence[str | Path],
    source: str = "",
    target: str = "",
    *,
    on_bad_line: OnBadLine | None = None,
    on_unused: OnBadLine | None = None,
) -> Iterator[Pair]:
    """Read pairs of parallel text, in the order of the files and without holding them in memory.

    One file holds both sides (.tsv: source TAB target; .jsonl, .parquet, .arrow: objects with `source` and `target`, or
    with languages; .tmx, .xlf, .xliff, .po, .ts, .csv: segments in named languages); two files are read line by line.
    Text may be compressed (.gz, .xz, .zst). Inline codes are left out. A side may be empty: `clean` filters such pairs.

    Args:
        source: language code for files of segments, such as `en`, which also matches `en-US`. If it or `target` is not
            given, the file must have exactly two languages. Or a column of a table after `#`: its number (from 1), as
            in `#3`, or its name, as in `#English`.
        target: language code, or column, of the other side.
        on_bad_line: called for each unreadable line (not valid UTF-8, NUL, over 1 MB, no TAB, no JSON object with both
            keys, a faulty segment), which is skipped with its counterpart; if not given, the first one raises.
        on_unused: called for each segment that is not used: not translated, a draft, or in other languages.

    Raises:
        UserError: immediately if a file is missing or of unknown format; while reading, at the first bad line, or at a
            fault of the whole file: unequal numbers of lines, a damaged archive, a line of over 100 MB. Do not use the
            pairs read before such a fault: the sides may be misaligned, and an archive's checksum is at its end.
    """
    paths = [Path(file) for file in files]
    for path in paths:
        (require_there if holds_both_sides(path) else require_file)(path)
    columns = (source[1:], target[1:]) if source.startswith("#") else ()
    if columns and not (len(paths) == 1 and kind_of(paths[0]) in FURTHER_COLUMNS):
        names = " + ".join(map(str, paths))
        raise UserError(f"{names}: only one file of {', '.join(FURTHER_COLUMNS)} has columns to choose")
    if len(paths) == 2:
        for path in paths:
            if (kind := kind_of(path)) in BOTH_SIDES and kind == text_suffix(path):
                raise UserError(f"{path}: a {kind} file holds both sides: give it alone, not as one of two files")
        return without_bad(scan_moses(*paths), on_bad_line)
    kinds = f"{', '.join(BOTH_SIDES[:-1])} or {BOTH_SIDES[-1]}"
    if len(paths) != 1:
        count = counted(len(paths), "file")
        raise UserError(f"{count} given; parallel text is one file ({kinds}) or two, read line by line")
    (path,) = paths
    kind = kind_of(path, alone=True)
    if kind not in _READERS:
        raise UserError(
            f"{path}: one file must hold both sides and be {kinds} (or that with {', '.join(COMPRESSIONS)}), "
            f"not {text_suffix(path) or 'without a suffix'}; give two files to read them line by line"
        )
    segments = _READERS[kind](path, sides=columns) if columns else _READERS[kind](path)
    languages = () if columns else (source, target)
    return without_bad(pairs_of(segments, str(path), *languages), on_bad_line, on_unused)


def names_languages(files: Sequence[str | Path]) -> bool:
    """Whether the pairs read from these files depend on the `source` and `target` languages. Raises `UserError` for a
    file that cannot be read."""
    kind = kind_of(files[0], alone=True) if len(files) == 1 else ""
    items = _READERS[kind](files[0]) if kind in _READERS else ()
    return any(isinstance(item, Segment) for item in islice(items, HEAD_LINES))
