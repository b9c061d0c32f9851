"""Filter useless or harmful pairs and unreadable lines; report which, why and how many."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Self, TextIO

from limelight.errors import counted
from limelight.files import naming
from limelight.text.pair import BadLine, Pair
from limelight.text.words import comparable_length

_LATER = (
    "\u0080-\u00bf\u20ac\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u017d\u2018\u2019\u201c"
    "\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u017e\u0178"
)
"""What the second byte of a character in UTF-8 becomes in Windows-1252 or Latin-1."""
_DAMAGE = (
    re.compile(
        f"[\u00c2\u00c3][\u0080-\u00bf\u20ac\u0192\u2020\u2021\u02c6\u2030\u0160\u0152\u017d\u02dc\u2122\u0161\u0153\u017e\u0178](?!\\w?\u00bb)|\u00e2(?:\u20ac[{_LATER}]|\u201a\u00ac)"
    ),
    re.compile(f"(?:[\u00c4\u00c5\u00d0\u00d1\u00ce\u00cf\u00d7\u00d8\u00d9][{_LATER}]){{2,}}"),
    re.compile("\ufffd|[\u0080-\u0084\u0086-\u009f]"),
    re.compile(r"(?<=[^\W\d_])\?{1,2}(?=[a-zà-ÿ]{2})"),
)
_ADDRESS = re.compile(r"(?<!\S)\S*(?:://|www\.|[=&/]\w*\?|\?\w+=)\S*")


def encoding_damage(text: str) -> str:
    """The first damaged part of a text, such as `Ã¼`; empty if there is none.

    >>> encoding_damage("Das ist fÃ¼r dich")
    'Ã¼'
    """
    if text.isascii() and "?" not in text:
        return ""
    without = _ADDRESS.sub(" ", text)
    return next((match[0] for damage in _DAMAGE if (match := damage.search(without))), "")


_SHORT = 20
"""Characters below which a length ratio is not significant: "no" may translate to "auf keinen Fall"."""

REASONS = {
    "empty": "one side is empty",
    "too_long": "a side is too long",
    "length_ratio": "the sides differ too much in length",
    "identical": "both sides are the same text",
    "duplicate": "the pair was seen before",
    "held_out": "a side is in the held-out text",
    "encoding": "characters are damaged by a wrong encoding",
    "language": "a side is in another language",
    "misaligned": "the sides of these lines do not belong together",
    "near_duplicate": "the pair differs from an earlier one in case, signs or spaces alone",
}
"""Reasons to leave a pair out, in the order in which they are tested."""


@dataclass
class CleanReport:
    """What `clean` did, counted while it runs."""

    total: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    """Pairs left out, for each of `REASONS`; every pair counts once, for the first reason that holds."""
    first_place: dict[str, str] = field(default_factory=dict)
    """`file:line` of the first pair for each reason; reasons that never applied are missing."""
    on_left_out: Callable[[Pair, str], None] | None = None
    """Called with each pair that is left out and the reason in words."""

    def drop(self, pair: Pair, reason: str) -> None:
        """Count a pair that is left out for one of `REASONS`."""
        self.dropped[reason] += 1
        self.first_place.setdefault(reason, pair.place)
        if self.on_left_out is not None:
            self.on_left_out(pair, REASONS[reason])

    def summary(self) -> str:
        """A line of counts, and a line with an example for each reason that applied."""
        lines = [f"{self.kept:,} of {self.total:,} pairs kept"]
        for reason, words in REASONS.items():
            if self.dropped[reason]:
                lines.append(f"  left out {self.dropped[reason]:,}: {words} (first: {self.first_place[reason]})")
        return "\n".join(lines)


def clean(
    pairs: Iterable[Pair],
    report: CleanReport,
    *,
    max_characters: int,
    max_length_ratio: float,
    drop_duplicates: bool,
    drop_identical: bool,
    is_held_out: Callable[[Pair], bool] = lambda pair: False,
    fault: Callable[[Pair], str] = lambda pair: "",
) -> Iterator[Pair]:
    """The pairs that pass all filters, in order; `report` is updated meanwhile.

    Args:
        max_characters: maximum length of the longer side.
        max_length_ratio: maximum ratio of the lengths of the longer and the shorter side, in characters; not applied if
            both sides have fewer than 20 characters.
        drop_duplicates: keep only the first of equal pairs. An 8-byte hash is stored for each pair (about 70 bytes of
            memory). The probability of a collision among n pairs is about n^2 / 2^65: 3e-8 for a million pairs; a
            collision drops one pair.
        drop_identical: leave out pairs whose sides are the same text.
        is_held_out: whether a pair is kept for validation or tests, or one of its texts is.
        fault: one of `REASONS` for a pair that passes all others; empty for a good one.
    """
    seen = set[bytes]()

    def reason_of(pair: Pair) -> str:
        source, target = pair.source.strip(), pair.target.strip()
        if not (source and target):
            return "empty"
        if max(len(source), len(target)) > max_characters:
            return "too_long"
        if differ_in_length(source, target, max_length_ratio):
            return "length_ratio"
        if drop_identical and source == target:
            return "identical"
        if drop_duplicates:
            # Neither side can contain NUL, so the joined text identifies the pair.
            key = blake2b(f"{source}\0{target}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
            if key in seen:
                return "duplicate"
            seen.add(key)
        return "held_out" if is_held_out(pair) else fault(pair)

    for pair in pairs:
        report.total += 1
        if reason := reason_of(pair):
            report.drop(pair, reason)
        else:
            report.kept += 1
            yield pair


def differ_in_length(source: str, target: str, max_length_ratio: float) -> bool:
    """Whether the longer text has more than `max_length_ratio` times the characters of the shorter one, and at least
    20 (see `comparable_length`)."""
    shorter, longer = sorted(map(comparable_length, (source, target)))
    return longer >= _SHORT and longer > max_length_ratio * shorter


class Listing:
    """A text file of at most `limit` lines. Use it in a `with` block.

    The file of an earlier run is removed; a new one is created with the first line.
    """

    limit = 100_000

    def __init__(self, path: Path) -> None:
        self.total = 0
        self._path = path
        self._file: TextIO | None = None

    def __enter__(self) -> Self:
        self._path.unlink(missing_ok=True)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with naming(self._path):
                self._file.close()

    def _write(self, line: str) -> None:
        self.total += 1
        if self.total > self.limit:
            return
        with naming(self._path):
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = open(self._path, "w", encoding="utf-8", errors="replace")  # noqa: SIM115 - see `__exit__`
            self._file.write(line + "\n")


MAX_LEFT_OUT_CHARACTERS = 500
"""Maximum characters of each text in a list of pairs that were left out."""


class LeftOutList(Listing):
    """Lists the pairs that were left out, in a .tsv file: file, line, reason, source, target.

    `add` is the `on_left_out` of a `CleanReport`.
    """

    def add(self, pair: Pair, reason: str) -> None:
        """List a pair."""
        texts = (" ".join(text[:MAX_LEFT_OUT_CHARACTERS].split()) for text in (pair.source, pair.target))
        self._write("\t".join([pair.file, str(pair.line), reason, *texts]))

    def summary(self) -> str:
        """A line that names the file; empty if nothing was left out."""
        which = f"the first {self.limit:,}" if self.total > self.limit else "all"
        return f"  {which} of the {self.total:,} are in {self._path}" if self.total else ""


NAMED = 5
"""Lines that are reported immediately; a corpus may have a million more of them."""


class SkipReport(Listing):
    """Collects bad lines; `add` is the `on_bad_line` of `read_pairs`, and its `on_unused`.

    The first few unreadable lines are reported immediately. Each line is written as `file:line: reason` to the file
    `listing`.
    """

    limit = 1_000_000
    """A small archive may have more bad lines than the disk can hold."""

    def __init__(self, listing: Path, say: Callable[[str], None]) -> None:
        super().__init__(listing)
        self._say = say
        self._counts = {False: Counter[str](), True: Counter[str]()}
        """How often each reason occurred, for unreadable lines, and for segments that are not used."""
        self._first: dict[tuple[bool, str], str] = {}

    def add(self, line: BadLine) -> None:
        """Report, count and list a line."""
        self._counts[line.unused][line.kind] += 1
        self._first.setdefault((line.unused, line.kind), f"{line.file}:{line.line}")
        if not line.unused and self._counts[False].total() <= NAMED:
            self._say(f"skipped {line}")
        self._write(str(line))

    def summary(self) -> str:
        """A line of counts, and a line with an example for each reason; empty if nothing was skipped."""
        first = f"the first {self.limit:,} of them" if self.total > self.limit else "each of them"
        where, lines = f"; {first} in {self._path}", list[str]()
        for unused, verb in ((False, "skipped"), (True, "not used")):
            counts = self._counts[unused]
            if total := counts.total():
                segments = f"{total:,} segment{' is' if total == 1 else 's are'} not used"
                said = segments if unused else f"skipped {counted(total, 'line')} that cannot be read"
                lines.append(said + where * (not lines))
                lines += [
                    f"  {verb} {count:,}: {reason} (first: {self._first[unused, reason]})"
                    for reason, count in counts.most_common()
                ]
        return "\n".join(lines)
