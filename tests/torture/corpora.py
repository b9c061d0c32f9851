"""Parallel text in which every side names its line, damaged at random: as text, as an archive, or both."""

import gzip
import json
import lzma
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import zstandard

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda text: gzip.compress(text, compresslevel=1),
    ".xz": lambda text: lzma.compress(text, preset=0),
    ".zst": zstandard.ZstdCompressor(write_checksum=True).compress,  # as `zstd` does
}
NAMES = {"tsv": ("t.tsv",), "jsonl": ("t.jsonl",), "two files": ("t.en", "t.de")}
WORDS = ("dog", "Straße", "日本", "𝔘𝔫", "naïve", "a\u2028b", "c\u0085d", "\ufeffe", '"quoted"', "back\\slash", "x" * 40)
SEPARATORS = ("\n", "\r", "\r\n", "\t", "\v", "\f", "\x1c", "\0", "\u0085", "\u2028", "\u2029", "\ufeff", '"', "\\")


def drawn_pairs(draw: random.Random) -> list[tuple[str, str]]:
    """Pairs whose two sides name their line, each long enough that no small deletion swallows one whole."""
    return [
        tuple(f"<{number}> {' '.join(draw.choices(WORDS, k=draw.randint(2, 5)))} <{number}>" for _ in range(2))
        for number in range(1, draw.randint(3, 20))
    ]  # type: ignore[misc]


def as_lines(kind: str, sides: list[tuple[str, str]]) -> list[list[bytes]]:
    """The lines of each file that holds the corpus."""
    if kind == "tsv":
        return [[f"{source}\t{target}".encode() for source, target in sides]]
    if kind == "jsonl":
        return [[json.dumps({"source": a, "target": b}, ensure_ascii=False).encode() for a, b in sides]]
    return [[pair[side].encode() for pair in sides] for side in range(2)]


def lines_of(text: bytes) -> list[bytes]:
    """What ends at `\\n`, without a `\\r` before it and without a byte order mark: the meaning of a line."""
    lines = text.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r").removeprefix("\ufeff".encode()) for line in lines]


# --- damage ---


def flip(draw: random.Random, data: bytes) -> bytes:
    place = draw.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]


def insert(draw: random.Random, data: bytes) -> bytes:
    place = draw.randint(0, len(data))
    return data[:place] + draw.randbytes(draw.randint(1, 8)) + data[place:]


def delete(draw: random.Random, data: bytes) -> bytes:
    place = draw.randrange(len(data))
    return data[:place] + data[place + draw.randint(1, 8) :]


def cut(draw: random.Random, data: bytes) -> bytes:
    return data[: draw.choice([0, draw.randrange(len(data)), draw.randrange(len(data))])]


def append(draw: random.Random, data: bytes) -> bytes:
    return data + draw.choice([b"\0" * draw.randint(1, 9), draw.randbytes(draw.randint(1, 30)), data[: len(data) // 5]])


def at_a_line(change: Callable[[random.Random, bytes], bytes]) -> Callable[[random.Random, bytes], bytes]:
    """Damage to a whole line, its end included."""

    def damage(draw: random.Random, data: bytes) -> bytes:
        lines = data.splitlines(keepends=True)
        place = draw.randrange(len(lines))
        return b"".join([*lines[:place], change(draw, lines[place]), *lines[place + 1 :]])

    return damage


def garble(draw: random.Random, line: bytes) -> bytes:
    """The line as somebody with another encoding writes it."""
    text = line.decode("utf-8", "replace")
    ending = b"\n" if text.endswith("\n") else b""
    coding, errors = draw.choice([("latin-1", "replace"), ("utf-16-le", "replace"), ("cesu", ""), ("overlong", "")])
    if coding == "cesu":
        halves = "𝔘".encode("utf-16-be")
        pair = b"".join(chr(int.from_bytes(halves[i : i + 2])).encode("utf-8", "surrogatepass") for i in (0, 2))
        return text.rstrip("\n").encode() + pair + ending
    if coding == "overlong":
        return text.rstrip("\n").encode().replace(b" ", b"\xc0\xa0", 1) + ending
    return text.rstrip("\n").encode(coding, errors) + ending


def separate(draw: random.Random, data: bytes) -> bytes:
    place = draw.randint(0, len(data))
    return data[:place] + draw.choice(SEPARATORS).encode() + data[place:]


def lengthen(draw: random.Random, line: bytes) -> bytes:
    return b"x" * draw.choice([999_000, 1_000_001, 2_100_000]) + line if draw.random() < 0.05 else line[:3] + line


TEXT_DAMAGE = (
    flip, insert, delete, cut, separate, separate,
    at_a_line(lambda _, line: b""), at_a_line(lambda _, line: line * 2), at_a_line(garble), at_a_line(lengthen),
    at_a_line(lambda _, line: line.rstrip(b"\r\n")), at_a_line(lambda _, line: b"\n"),
)  # fmt: skip
ARCHIVE_DAMAGE = (flip, insert, delete, cut, append)


def ends_with_a_line(text: bytes) -> bool:
    """Whether a cut behind this text leaves no trace."""
    return not text or text.endswith(b"\n")


@dataclass
class Case:
    """A damaged corpus on the disk, and what its bytes say when they are read plainly."""

    kind: str
    files: list[Path]
    sides: list[tuple[str, str]]
    texts: list[bytes]
    """What each file holds, as its archive was made."""
    archives_damaged: bool = False
    slipped_back: bool = False
    """Two files whose lines slipped and are equally many again: no reader can know."""
    halves: dict[Path, bytes] = field(default_factory=dict)
    """Of archives end to end that are cut off exactly between them: the text before the cut."""
    lines: list[list[bytes]] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = [lines_of(text) for text in self.texts]

    @property
    def unknowable(self) -> bool:
        """Whether no reader can know of the damage: such a cut at the end of a line is one that nobody can find."""
        return self.slipped_back or any(map(ends_with_a_line, self.halves.values()))


def drawn_case(draw: random.Random, folder: Path, kind: str) -> Case:
    """A corpus with at least one damage, written into `folder`."""
    sides = drawn_pairs(draw)
    texts = []
    for lines in as_lines(kind, sides):
        end = draw.choice([b"\n", b"\n", b"\r\n"])
        texts.append(end.join(lines) + draw.choice([end, b""]))
    suffixes = [draw.choice(list(COMPRESS)) for _ in texts]
    archives = draw.random() < 0.4 and any(suffixes)
    moved = 0
    for _ in range(draw.choice([0, 0, 1]) if archives else draw.choice([1, 1, 2, 3])):
        place = draw.randrange(len(texts))
        if texts[place]:
            before = len(lines_of(texts[place]))
            texts[place] = draw.choice(TEXT_DAMAGE)(draw, texts[place])
            moved += len(lines_of(texts[place])) != before
    case = Case(kind, [], sides, texts, archives)
    case.slipped_back = moved > 1 and len({len(lines) for lines in case.lines}) == 1 and kind == "two files"
    for name, suffix, text in zip(NAMES[kind], suffixes, texts, strict=True):
        parts = [text[: len(text) // 2], text[len(text) // 2 :]] if draw.random() < 0.2 else [text]
        whole = [COMPRESS[suffix](part) for part in parts]
        content = b"".join(whole)
        for _ in range(draw.choice([1, 1, 2]) if archives and suffix else 0):
            content = draw.choice(ARCHIVE_DAMAGE)(draw, content or b"\0")
        case.files.append(folder / f"{name}{suffix}")
        if suffix and len(parts) == 2 and content.startswith(whole[0]) and not content[len(whole[0]) :].strip(b"\0"):
            case.halves[case.files[-1]] = parts[0]
        case.files[-1].write_bytes(content)
    return case
