"""What a stranger may do to a model folder, by name. Each is a change to a good folder."""

import hashlib
import json
import os
import pickle
import random
import shutil
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from limelight.tokens.metadata import write_stored
from tests.torture.hostile import CHOICES, CONFIG, LABELS, METADATA, PIECES, WEIGHTS, Change

Json = dict[str, Any]


def write(name: str, content: bytes | str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return change


def append(name: str, text: str) -> Change:
    return lambda folder: write(name, (folder / name).read_text() + text)(folder)


def each(what: str, make: Callable[[Any], Change], values: Iterable[Any]) -> dict[str, Change]:
    """A case for each of the values, which its name begins with."""
    return {f"{what} {number}: {repr(value)[:40]}": make(value) for number, value in enumerate(values)}


def sparse(name: str, size: int) -> Change:
    """A file that claims a size which lies on no disk."""

    def change(folder: Path) -> None:
        with open(folder / name, "r+b") as file:
            file.truncate(size)

    return change


# --- pickles ---


class Payload:
    """An object that makes the canary when it is unpickled."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.system, (f"touch {self.canary}",)


def pickles(canary: Path) -> dict[str, bytes]:
    """The payload as every tool writes it."""
    found, place = (
        {str(protocol): pickle.dumps(Payload(canary), protocol) for protocol in (0, 4)},
        Path(f"{canary}-file"),
    )
    for name, zipped in (("pt", True), ("old pt", False)):
        torch.save({"encoder.weight": Payload(canary)}, place, _use_new_zipfile_serialization=zipped)
        found[name] = place.read_bytes()
    with open(place, "wb") as file:
        np.savez(file, np.array([Payload(canary)], dtype=object))
    header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    found |= {"npz": place.read_bytes(), "behind a header": struct.pack("<Q", len(header)) + header + found["pt"]}
    place.unlink()
    return found


def pickle_cases(canary: Path) -> dict[str, Change]:
    """Under the names of the files of a model, and under their own in place of the weights."""

    def instead_of_the_weights(name: str) -> Change:
        def change(folder: Path) -> None:
            (folder / WEIGHTS).unlink()
            write(name, written["npz" if name.endswith("npz") else "pt"])(folder)

        return change

    written = pickles(canary)
    return {
        **{f"{name} as weights": write(WEIGHTS, content) for name, content in written.items()},
        **{f"as {place}": write(place, written["4"]) for place in (CONFIG, METADATA)},
        "as pieces": with_pieces("bpe", lambda _: written["4"]),
        **each("alone", instead_of_the_weights, ["model.pt", "pytorch_model.bin", "model.npz"]),
    }


# --- weights ---


def with_header(change: Callable[[Json], Any], data: Callable[[bytes], bytes] = bytes) -> Change:
    """Another header, given as JSON or, where `change` returns one, as text; and other data."""

    def apply(folder: Path) -> None:
        content = (folder / WEIGHTS).read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8 : 8 + length])
        said = change(header)
        text = said.encode() if isinstance(said, str) else json.dumps(header).encode()
        write(WEIGHTS, struct.pack("<Q", len(text)) + text + data(content[8 + length :]))(folder)

    return apply


def tensors(header: Json) -> list[str]:
    """Their names in the order of the data."""
    return sorted(set(header) - {"__metadata__"}, key=lambda name: header[name]["data_offsets"])


def moved(header: Json, by: int) -> None:
    """Every tensor but the first begins `by` bytes later."""
    for name in tensors(header)[1:]:
        header[name]["data_offsets"] = [place + by for place in header[name]["data_offsets"]]


def nothing(_: object) -> None:
    """Leave it as it is."""


def weights_cases() -> dict[str, Change]:
    """What the header says of the tensors, what they hold, and the header as a whole."""

    def of_first(key: str) -> Callable[[Any], Change]:
        return lambda value: with_header(lambda header: header[tensors(header)[0]].update({key: value}))

    def with_length(length: int) -> Change:
        return lambda folder: write(WEIGHTS, struct.pack("<Q", length) + (folder / WEIGHTS).read_bytes()[8:])(folder)

    def full_of(value: float) -> Change:
        return with_header(nothing, lambda data: struct.pack("<f", value) * (len(data) // 4))

    many = {f"t{n}": {"dtype": "F32", "shape": [1], "data_offsets": [4 * n, 4 * n + 4]} for n in range(40_000)}
    return {
        **each("shape", of_first("shape"), [[2**40, 2**40], [2**62, 4, 0], [-1, -1], [1.5], ["8"], 8, [1] * 1000]),
        **each("places", of_first("data_offsets"), [(4, 0), (-4, 4), (0, 2**40), (2**63, 2**64), (0.0, 4.0), (0,)]),
        **each("kind", of_first("dtype"), ["object", None, "F64", "I32", "BOOL"]),
        **each("full of", full_of, [float("nan"), float("-inf")]),
        "overlap": with_header(lambda header: moved(header, -4), lambda data: data[:-4]),
        "hole": with_header(lambda header: moved(header, 4), lambda data: data + bytes(4)),
        "bytes after the last": with_header(nothing, lambda data: data + b"more"),
        "bytes missing": with_header(nothing, lambda data: data[:-1]),
        "one missing": with_header(lambda header: header.pop(tensors(header)[-1])),
        "another name": with_header(lambda header: header.update({"\x1b[2Jevil" * 50: header.pop(tensors(header)[0])})),
        **each("header", lambda text: with_header(lambda _: text), ["", "[]", "[" * 100_000, '{"a":' * 100_000]),
        **each("header of", with_length, [0, 1, 2**40, 2**64 - 1]),
        "spaces": with_header(lambda header: json.dumps(header) + " " * 10**8),
        "40,000 tensors": with_header(lambda _: json.dumps(many), lambda _: bytes(160_000)),
        **each("file", lambda content: write(WEIGHTS, content), [b"", bytes(7), b"no weights" * 99]),
        "4 TB": sparse(WEIGHTS, 2**42),
    }


# --- configuration ---


def set_in(name: str, section: str | None, **values: Any) -> Change:
    """Other values in a YAML file, or in a section of it."""

    def change(folder: Path) -> None:
        content = yaml.safe_load((folder / name).read_text())
        (content[section] if section else content).update(values)
        write(name, yaml.safe_dump(content))(folder)

    return change


def config_cases(canary: Path) -> dict[str, Change]:
    """Settings that are unknown, absurd, or those of another model, and what YAML can say beyond plain values."""

    def of_model(setting: tuple[str, Any]) -> Change:
        return set_in(CONFIG, "model", **dict([setting]))

    sizes = [(name, size) for name in ("d_model", "heads", "encoder_layers") for size in (100, 10**9, -1, 0.5, [8])]
    recurrent = "model: {family: recurrent, "
    tags = [
        *(f"!!python/object/apply:os.system ['touch {canary}']", "!!python/name:os.system", "!!python/module:os"),
        *("!!python/tuple [1]", "!!timestamp x", "!own x"),
    ]
    numbers = [f"0x{'f' * 90_000}", "9" * 5000, "1e999"]
    nested = ["[" * 90_000, "[" * 40_000 + "]" * 40_000, "- " * 40_000]
    laughs = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    contents = [
        b"",
        b"\0",
        b"\xff\xfe",
        b"[1, 2]",
        b"{{",
        b"--- 1\n--- 2",
        b"model: null",
        b"training: {seed: 1, seed: 2}",
    ]
    return {
        **each("setting", of_model, [*sizes, ("family", "recurrent"), ("tie", "none")]),
        **each(
            "unknown", lambda key: append(CONFIG, f"{key}: 1\n"), ["auto_map", "__class__", '"\\e[2Jevil"', "? [a]"]
        ),
        "wide": write(CONFIG, recurrent + "hidden: 1000000, embedding: 1000000}"),
        "deep": write(CONFIG, recurrent + "encoder_layers: 100, decoder_layers: 100}"),
        "a beam of 10^9": set_in(CONFIG, "decoding", beam_size=10**9),
        "infinite translations": set_in(CONFIG, "decoding", max_length_factor=float("inf")),
        **each("value", lambda text: append(CONFIG, f"more: {text}\n"), [*tags, *numbers, *nested]),
        **each("content", lambda content: write(CONFIG, content), contents),
        "laughs": append(CONFIG, "a0: &a0 [ha, ha, ha, ha]\n" + laughs),
        "an endless value": write(CONFIG, "recipe: &a [*a, *a]\n"),
        "1 TB": sparse(CONFIG, 2**40),
    }


# --- tokenizers ---


def with_pieces(kind: str, change: Callable[[bytes], bytes]) -> Change:
    """Other bytes in the model file of the tokenizer, with the sum in its description put right."""

    def apply(folder: Path) -> None:
        path = folder / PIECES[kind]
        path.write_bytes(change(path.read_bytes()))
        set_in(METADATA, None, sha256=hashlib.sha256(path.read_bytes()).hexdigest())(folder)

    return apply


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
        return with_pieces("bpe", lambda _: unit_and_count[0] * unit_and_count[1])

    def added(more: bytes) -> Change:
        return with_pieces("bpe", lambda content: content + more)

    contents = {
        b"": 1,
        b"no model": 1,
        b"\xff": 1000,
        b"\x80": 10**6,
        b"\x0b": 100,
        random.Random(5).randbytes(5000): 1,
    }
    contents |= {piece(b"a"): 10**7, b"\x0a\x00": 4 * 10**6}
    pieces = [
        *(piece(b"a" * 2_000_000), piece(b"a\0b"), piece(b"\xff\xfe"), piece(b""), piece(b"</s>"), piece(b"more")),
        *(piece(b"zz", float("nan")), piece(b"zz", kind=6), piece(b"zz", kind=99), field(4, bytes(17_000_000))),
    ]
    tries = [b"\xff" * 1024, struct.pack("<I", 0x803FFC00) + bytes(1020)]  # the second one's root leads far outside
    rules = [field(2, struct.pack("<I", 1024) + trie + b"a\0" * 50) for trie in tries]
    return {
        **each("spm", instead, contents.items()),
        **each("piece", added, pieces),
        **each("rules", added, [field(number, content) for content in rules for number in (3, 5)]),
        "spm cut": with_pieces("bpe", lambda content: content[: len(content) // 2]),
    }


def description_cases() -> dict[str, Change]:
    """Of the file beside it; and good tokenizers, but not those of this model."""

    def set_one(pair: tuple[str, Any]) -> Change:
        return set_in(METADATA, None, **dict([pair]))

    def another(size: int) -> Change:
        def apply(folder: Path) -> None:
            shutil.rmtree(folder / "tokenizer")
            content = "".join(map(chr, range(0xE000, 0xE000 + size - 2))).encode()
            write_stored(folder / "tokenizer" / "joint", "characters", size, (), content)

        return apply

    values = {
        "kind": ["../../evil", "characters", None, "\x1b[2J"], "reserved": [["<2xx>"], [1, 2], "<2en>"],
        "padding": [0, 10**9], "format": [2, 10**1000, None], "sha256": ["0" * 64, 7], "file": ["../../../etc/passwd"],
    }  # fmt: skip
    counts = (-1, 0, 5, 10**7, 2**63, 7.0, "7", None)
    contents = (b"", b"[]", b"\xff", b"[" * 90_000, b"a: &a [*a]", b"!!python/name:os.system", b"x" * 10**7)
    return {
        **each("pieces", lambda count: set_in(METADATA, None, pieces=count, padding=count), counts),
        **each("with", set_one, [(name, value) for name, several in values.items() for value in several]),
        **each("content", lambda content: write(METADATA, content), contents),
        **each("a good vocabulary of", another, [50, 400_000]),
    }


# --- labels ---


def label_cases() -> dict[str, Change]:
    """What the labels of a classifier may be instead."""

    def among(value: Any) -> Change:
        return write(LABELS, json.dumps([*CHOICES[:2], value]))

    no_json = [
        b"",
        b"blue\ngreen\nred",
        b'["blue", "green", "red"',
        b"\xff\xfe",
        b"[" * 100_000,
        b"[" + b"9" * 5000 + b"]",
    ]
    no_list = [b"null", b'"red"', b'{"0": "blue"}', json.dumps(["red"] * 3).encode(), json.dumps(["a", "b"]).encode()]
    others = [None, 7, ["red"], "", " ", "green", "x" * 10**6, "a\0b", "a\nb", "\x1b[2Jevil", "a\u202eb", "\ud800"]
    return {
        **each("content", lambda content: write(LABELS, content), [*no_json, *no_list]),
        **each("among them", among, others),
        "1 TB": sparse(LABELS, 2**40),
        "a pipe that nobody writes": replaced(LABELS, os.mkfifo),
        "gone": replaced(LABELS, nothing),
    }


# --- places ---


def replaced(name: str, make: Callable[[Path], Any]) -> Change:
    """Something else under the name of a file or folder."""

    def change(folder: Path) -> None:
        (folder / name).rename(aside(folder, name))
        make(folder / name)

    return change


def aside(folder: Path, name: str) -> Path:
    return folder.with_name(f"{folder.name}-{name.replace('/', '-')}")


def place_cases() -> dict[str, Change]:
    targets = ("/dev/zero", "/etc/passwd", "/proc/self/mem", "/nowhere", ".", "/")
    makers: dict[str, Callable[[Path], Any]] = {
        "fifo": os.mkfifo,
        "folder": Path.mkdir,
        "nothing": nothing,
        **{f"link to {target}": lambda path, target=target: path.symlink_to(target) for target in targets},
    }
    names = (WEIGHTS, CONFIG, METADATA, PIECES["bpe"], "tokenizer", "tokenizer/joint")
    cases = {f"{name}: {what}": replaced(name, make) for name in names for what, make in makers.items()}

    def linked_out(name: str) -> Change:
        """The file or folder itself, but outside."""
        return lambda folder: replaced(name, lambda path: path.symlink_to(aside(folder, name)))(folder)

    return cases | {f"{name}: link out": linked_out(name) for name in names}


def harmless_cases(canary: Path) -> dict[str, Change]:
    """What is never opened, or says nothing that is taken."""
    written = pickles(canary)

    def code_beside(folder: Path) -> None:
        for name in ("model.pt", "pytorch_model.bin", "tokenizer/joint/vocab.pkl", "optimizer.pt"):
            write(name, written["pt"])(folder)
        for name in ("__init__.py", "conftest.py", "sitecustomize.py", "modeling.py", "torch.py", "yaml.py"):
            write(name, f"open({str(canary)!r}, 'w')")(folder)

    def fifo_as_corpus(folder: Path) -> None:
        os.mkfifo(folder / "fifo")
        outside = [{"files": ["../../../etc/passwd"]}]
        set_in(CONFIG, "data", train=[{"files": [str(folder / "fifo")]}], valid=outside)(folder)

    return {
        "code beside the model": code_beside,
        "a corpus that waits, and one outside": fifo_as_corpus,
        "a card that is a fifo": replaced("README.md", os.mkfifo),
    }
