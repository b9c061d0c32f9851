"""What a stranger may do to the tokenizer in a model folder, and to the places of its files."""

import hashlib
import os
import random
import shutil
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from limelight.tokens.metadata import write_stored
from tests.torture.hostile import CONFIG, METADATA, PIECES, WEIGHTS, Change
from tests.torture.hostile_cases import each, nothing, pickles, set_config, write

# --- tokenizers ---


def with_pieces(kind: str, change: Callable[[bytes], bytes]) -> Change:
    """Other bytes in the model file of the tokenizer, with the sum in its description put right."""

    def apply(folder: Path) -> None:
        path = folder / PIECES[kind]
        path.write_bytes(change(path.read_bytes()))
        set_description(sha256=hashlib.sha256(path.read_bytes()).hexdigest())(folder)

    return apply


def set_description(**values: Any) -> Change:
    def change(folder: Path) -> None:
        content = yaml.safe_load((folder / METADATA).read_text())
        content.update(values)
        (folder / METADATA).write_text(yaml.safe_dump(content))

    return change


def field(number: int, content: bytes) -> bytes:
    """A field with a length, as protocol buffers have it."""
    length, coded = len(content), b""
    while length > 0x7F:
        coded, length = coded + bytes([length & 0x7F | 0x80]), length >> 7
    return bytes([number << 3 | 2]) + coded + bytes([length]) + content


def piece(text: bytes, score: float = -1.0, kind: int = 1) -> bytes:
    return field(1, field(1, text) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind]))


def sentencepiece_cases() -> dict[str, Change]:
    """Of a model whose pieces are a sentencepiece model."""

    def instead(unit_and_count: tuple[bytes, int]) -> Change:
        unit, count = unit_and_count
        return with_pieces("bpe", lambda _: unit * count)

    def added(more: bytes) -> Change:
        return with_pieces("bpe", lambda content: content + more)

    contents = {b"": 1, b"\0": 1000, b"no model": 1, b"\xff": 1000, b"\x80": 10**6, b"\x0a\x80": 1, b"\x0b": 100}
    contents |= {random.Random(5).randbytes(5000): 1, piece(b"a"): 10**7}
    contents |= {b"\x0a\x00": 4 * 10**6, b"\x8a\x00\x00": 3 * 10**6}  # empty pieces, and in another coding
    pieces = [
        *(piece(b"a" * 2_000_000), piece(b"a\0b"), piece(b"\xff\xfe"), piece(b""), piece(b"</s>"), piece(b"more")),
        *(piece(b"zz", float("nan")), piece(b"<0xFF>", kind=6), piece(b"zz", kind=6), piece(b"zz", kind=99)),
        piece(b"zz", kind=2),
    ]
    tries = [b"\xff" * 1024, struct.pack("<I", 0x803FFC00) + bytes(1020)]  # the second one's root leads far outside
    rules = [field(2, struct.pack("<I", 1024) + trie + b"a\0" * 50) for trie in tries]
    rules.append(field(2, struct.pack("<I", 1024) + bytes(1024) + b"a" * 10**6 + b"\0"))
    return {
        **each("spm", instead, contents.items()),
        **each("piece", added, pieces),
        **each("rules", lambda content: added(field(3, content)), rules),
        **each("rules after it", lambda content: added(field(5, content)), rules),
        "spm cut": with_pieces("bpe", lambda content: content[: len(content) // 2]),
        "spm twice": with_pieces("bpe", lambda content: content + content),
        "spm of 17 MB": with_pieces("bpe", lambda content: content + field(4, bytes(17_000_000))),
        "400,000 pieces more": with_pieces(
            "bpe", lambda content: content + b"".join(piece(b"x%d" % number) for number in range(400_000))
        ),
    }


def description_cases() -> dict[str, Change]:
    """Of the file beside it."""

    def set_one(key: str) -> Callable[[Any], Change]:
        return lambda value: set_description(**{key: value})

    counts = (-1, 0, 1, 5, 500_000, 10**7, 2**63, True, 7.0, "7", None, [7])
    kinds = ("../../evil", "/etc/passwd", "spm.model", "", "characters", None, ["bpe"], "\x1b[2J", "k" * 1999)
    reserved = (["<2xx>"], [1, 2], "<2en>", [["<2en>"]], [f"<{n}>" for n in range(8_000)], ["\x1b[2J" * 90])
    keys = ("file", "model", "tokenizer_class", "auto_map", "vocab_file")
    contents = (b"", b"[]", b"\xff", b"[" * 90_000, b"a: &a [*a]", b"!!python/name:os.system", b"x" * 10**7)
    return {
        **each("pieces", lambda count: set_description(pieces=count, padding=count), counts),
        **each("kind", set_one("kind"), kinds),
        **each("reserved", set_one("reserved"), reserved),
        **each("with", lambda key: set_description(**{key: "../../../etc/passwd"}), keys),
        **each("padding", set_one("padding"), [0, 10**9]),
        **each("format", set_one("format"), [2, 10**1000, None]),
        **each("sum", set_one("sha256"), ["0" * 64, 7]),
        **each("content", lambda content: write(METADATA, content), contents),
    }


def other_vocabularies() -> dict[str, Change]:
    """Good tokenizers, but not those of this model."""

    def change(size: int) -> Change:
        def apply(folder: Path) -> None:
            shutil.rmtree(folder / "tokenizer")
            content = "".join(map(chr, range(0xE000, 0xE000 + size - 2))).encode()
            write_stored(folder / "tokenizer" / "joint", "characters", size, (), content)

        return apply

    return each("a good vocabulary of", change, [50, 200_000, 400_000])


# --- places ---


def instead_of_the_weights(name: str, content: bytes) -> Change:
    def change(folder: Path) -> None:
        (folder / WEIGHTS).unlink()
        (folder / name).write_bytes(content)

    return change


def pickle_cases(canary: Path) -> dict[str, Change]:
    """Under the names of the files of a model, and under their own in place of the weights."""
    written = pickles(canary)
    cases = {f"{name} as weights": write(WEIGHTS, content) for name, content in written.items()}
    for name in ("open 0", "system 4"):
        cases |= {f"{name} as {place}": write(place, written[name]) for place in (CONFIG, METADATA)}
        cases[f"{name} as pieces"] = with_pieces("bpe", lambda _, content=written[name]: content)
    for name in ("model.pt", "pytorch_model.bin", "model.pkl"):
        cases[f"{name} alone"] = instead_of_the_weights(name, written["pt open"])
    return {**cases, "model.npz alone": instead_of_the_weights("model.npz", written["npz open"])}


def replaced(name: str, make: Callable[[Path], Any]) -> Change:
    """Something else under the name of a file or folder."""

    def change(folder: Path) -> None:
        (folder / name).rename(folder.with_name(f"{folder.name}-{name.replace('/', '-')}"))
        make(folder / name)

    return change


def linked_out(name: str) -> Change:
    """The file or folder itself, but outside."""

    def change(folder: Path) -> None:
        outside = folder.with_name(f"{folder.name}-{name.replace('/', '-')}")
        replaced(name, lambda path: path.symlink_to(outside))(folder)

    return change


def make_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the name of a socket may have a hundred characters
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(here)


def place_cases() -> dict[str, Change]:
    targets = ("/dev/zero", "/dev/stdin", "/etc/passwd", "/proc/self/mem", "/nowhere", ".", "/")
    makers: dict[str, Callable[[Path], Any]] = {
        "fifo": os.mkfifo,
        "socket": make_socket,
        "folder": Path.mkdir,
        "nothing": nothing,
        "link to itself": lambda path: path.symlink_to(path.name),
        **{f"link to {target}": lambda path, target=target: path.symlink_to(target) for target in targets},
    }
    names = (WEIGHTS, CONFIG, METADATA, PIECES["bpe"], "tokenizer", "tokenizer/joint")
    cases = {f"{name}: {what}": replaced(name, make) for name in names for what, make in makers.items()}
    return cases | {f"{name}: link out": linked_out(name) for name in names}


def harmless_cases(canary: Path) -> dict[str, tuple[str, Change]]:
    """What is never opened, or says nothing that is taken; with the kind of model it is done to."""
    written = pickles(canary)

    def code_beside(folder: Path) -> None:
        for name in ("model.pt", "pytorch_model.bin", "tokenizer/joint/vocab.pkl", "optimizer.pt"):
            (folder / name).write_bytes(written["pt system"])
        (folder / "weights.npz").write_bytes(written["npz open"])
        for name in ("__init__.py", "conftest.py", "sitecustomize.py", "modeling.py", "torch.py", "yaml.py"):
            (folder / name).write_text(f"open({str(canary)!r}, 'w')", encoding="utf-8")

    def fifo_as_corpus(folder: Path) -> None:
        os.mkfifo(folder / "fifo")
        outside = [{"files": ["../../../etc/passwd"]}]
        set_config("data", train=[{"files": [str(folder / "fifo")]}], valid=outside)(folder)

    return {
        "code beside the model": ("bpe", code_beside),
        "a corpus that waits, and one outside": ("bpe", fifo_as_corpus),
        "no card": ("bpe", lambda folder: (folder / "README.md").unlink()),
        "a card that is a fifo": ("bpe", replaced("README.md", os.mkfifo)),
    }
