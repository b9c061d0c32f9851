"""What a stranger may do to a model folder, by name. Each is a change to a good folder."""

import json
import os
import pickle
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from tests.torture.hostile import CHOICES, CONFIG, LABELS, WEIGHTS, Change

Json = dict[str, Any]


def write(name: str, content: bytes | str) -> Change:
    def change(folder: Path) -> None:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return change


def each(what: str, make: Callable[[Any], Change], values: Iterable[Any]) -> dict[str, Change]:
    """A case for each of the values, which its name begins with."""
    return {f"{what} {number}: {repr(value)[:40]}": make(value) for number, value in enumerate(values)}


# --- pickles ---


class Payload:
    """An object that makes the canary when it is unpickled."""

    def __init__(self, how: str, canary: Path) -> None:
        self.how, self.canary = how, canary

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        ways: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
            "open": (open, (str(self.canary), "w")),
            "system": (os.system, (f"touch {self.canary}",)),
            "exec": (exec, (f"open({str(self.canary)!r}, 'w')",)),
            "touch": (Path.touch, (self.canary,)),
        }
        return ways[self.how]


def pickles(canary: Path) -> dict[str, bytes]:
    """The payload as every tool writes it."""
    found = {
        f"{how} {protocol}": pickle.dumps(Payload(how, canary), protocol)
        for how in ("open", "system", "exec", "touch")
        for protocol in (0, 2, 4, 5)
    }
    place = canary.with_name("archive")
    for how in ("open", "system"):
        for name, zipped in (("pt", True), ("old pt", False)):
            torch.save({"encoder.weight": Payload(how, canary)}, place, _use_new_zipfile_serialization=zipped)
            found[f"{name} {how}"] = place.read_bytes()
        objects = np.array([Payload(how, canary)], dtype=object)
        for name, save in (("npz", np.savez), ("npy", np.save)):
            with open(place, "wb") as file:
                save(file, objects)
            found[f"{name} {how}"] = place.read_bytes()
    place.unlink()
    header = json.dumps({"__metadata__": {"format": "pt"}}).encode()
    return {**found, "behind a header": struct.pack("<Q", len(header)) + header + found["pt system"]}


# --- weights ---


def with_header(change: Callable[[Json], Any], data: Callable[[bytes], bytes] = bytes) -> Change:
    """Another header, given as JSON or, where `change` returns one, as text; and other data."""

    def apply(folder: Path) -> None:
        content = (folder / WEIGHTS).read_bytes()
        length = struct.unpack("<Q", content[:8])[0]
        header = json.loads(content[8 : 8 + length])
        said = change(header)
        text = said.encode() if isinstance(said, str) else json.dumps(header).encode()
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + data(content[8 + length :]))

    return apply


def with_length(length: Callable[[int], int]) -> Change:
    def apply(folder: Path) -> None:
        content = (folder / WEIGHTS).read_bytes()
        said = length(struct.unpack("<Q", content[:8])[0])
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", said) + content[8:])

    return apply


def tensors(header: Json) -> list[str]:
    """Their names in the order of the data."""
    return sorted(set(header) - {"__metadata__"}, key=lambda name: header[name]["data_offsets"])


def first(header: Json) -> Json:
    """The tensor at the beginning of the data."""
    return header[tensors(header)[0]]


def moved(header: Json, by: int) -> None:
    """Every tensor but the first begins `by` bytes later."""
    for name in tensors(header)[1:]:
        header[name]["data_offsets"] = [place + by for place in header[name]["data_offsets"]]


def twice(header: Json) -> str:
    name = tensors(header)[0]
    return json.dumps(header)[:-1] + f', "{name}": {json.dumps(header[name])}}}'


def filled(value: float) -> Callable[[bytes], bytes]:
    return lambda data: struct.pack("<f", value) * (len(data) // 4)


def sparse(name: str, size: int) -> Change:
    """A file that claims a size which lies on no disk."""

    def change(folder: Path) -> None:
        with open(folder / name, "r+b") as file:
            file.truncate(size)

    return change


def nothing(_: object) -> None:
    """Leave it as it is."""


def weights_cases() -> dict[str, Change]:
    return {**tensor_cases(), **header_cases()}


def tensor_cases() -> dict[str, Change]:
    """What the header says of the tensors, and what they hold."""

    def set_first(key: str) -> Callable[[Any], Change]:
        return lambda value: with_header(lambda header: first(header).update({key: value}))

    def of_kind(kind: str) -> Change:
        """All tensors of another kind, with data of the size this takes."""
        factor = {"I64": 8, "F64": 8, "C64": 8, "I32": 4}.get(kind, 1)

        def change(header: Json) -> None:
            for name in tensors(header):
                places = [place * factor // 4 for place in header[name]["data_offsets"]]
                header[name].update(dtype=kind, data_offsets=places)

        return with_header(change, lambda data: bytes(len(data) * factor // 4))

    shapes = [
        *([2**40], [2**40, 2**40], [2**64], [2**62, 4, 0], [0], [-1], [-1, -1]),
        *([1.5], ["8"], [True], [None], [[8]], [], 8, None, [1] * 1000),
    ]
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
    places = [(0, 0), (0, 1), (4, 0), (-4, 4), (0, 2**40), (2**63, 2**64), (0.0, 4.0), (0,), (0, 4, 8), None]
    return {
        **each("shape", set_first("shape"), shapes),
        **each("places", set_first("data_offsets"), places),
        **each("named", set_first("dtype"), ["F31", "f32", "object", "", None, 7, ["F32"], "F64", "BF16"]),
        **each("of", of_kind, ["I64", "F64", "BOOL", "U8", "I32", "F8_E4M3", "C64"]),
        **each("full of", lambda value: with_header(nothing, filled(float(value))), ["nan", "inf", "-inf"]),
        "overlap": with_header(lambda header: moved(header, -4), lambda data: data[:-4]),
        "hole": with_header(lambda header: moved(header, 4), lambda data: data + bytes(4)),
        "bytes after the last": with_header(nothing, lambda data: data + b"more"),
        "bytes missing": with_header(nothing, lambda data: data[:-1]),
        "no data": with_header(nothing, lambda _: b""),
        "one missing": with_header(lambda header: header.pop(tensors(header)[-1])),
        "one more": with_header(lambda header: header.update(more=empty)),
        "one twice": with_header(twice),
        "another name": with_header(lambda header: header.update({"\x1b[2Jevil" * 50: header.pop(tensors(header)[0])})),
    }


def header_cases() -> dict[str, Change]:
    """The header as a whole, and the file."""
    many = {f"t{n}": {"dtype": "F32", "shape": [1], "data_offsets": [4 * n, 4 * n + 4]} for n in range(40_000)}
    texts = ["", "[]", "null", "7", "{", "[" * 100_000, '{"a":' * 100_000, '{"__metadata__": {"step": 7}}']
    return {
        **each("header", lambda text: with_header(lambda _: text), texts),
        **each("header longer by", lambda more: with_length(lambda length: length + more), [-1, 1, 10**6]),
        **each("header of", lambda length: with_length(lambda _: length), [0, 2**40, 2**63, 2**64 - 1]),
        **each("spaces", lambda count: with_header(lambda header: json.dumps(header) + " " * count), [10**7, 10**8]),
        "40,000 tensors": with_header(lambda _: json.dumps(many), lambda _: bytes(160_000)),
        "header not UTF-8": write(WEIGHTS, struct.pack("<Q", 4) + b"\xff\xfe{}"),
        "notes that are no text": with_header(lambda header: header.update(__metadata__={"step": 7})),
        **each("file", lambda content: write(WEIGHTS, content), [b"", bytes(7), bytes(1000), b"no weights" * 99]),
        "4 TB": sparse(WEIGHTS, 2**42),
    }


# --- configuration ---


def set_config(section: str, **values: Any) -> Change:
    def change(folder: Path) -> None:
        content = yaml.safe_load((folder / CONFIG).read_text())
        content[section].update(values)
        (folder / CONFIG).write_text(yaml.safe_dump(content))

    return change


def add_to_config(text: str) -> Change:
    def change(folder: Path) -> None:
        (folder / CONFIG).write_text((folder / CONFIG).read_text() + text)

    return change


def config_cases(canary: Path) -> dict[str, Change]:
    return {**setting_cases(), **yaml_cases(canary)}


def setting_cases() -> dict[str, Change]:
    """Settings that are unknown, absurd, or those of another model."""
    names = ("d_model", "heads", "d_ff", "encoder_layers", "decoder_layers", "head_size")
    sizes = (100, 10**6, 10**9, 10**30, -1, 0, 0.5, "many", [8])
    keys = ("auto_map", "_internal", "__class__", "model_", '"\\e[2Jevil"', "k" * 1900, "? [a]")
    recurrent = "model: {family: recurrent, "
    return {
        **{f"{name} {size}": set_config("model", **{name: size}) for name in names for size in sizes},
        **each("unknown", lambda key: add_to_config(f"{key}: 1\n"), keys),
        "unknown keys by the thousand": add_to_config("".join(f"k{n}: 1\n" for n in range(9_000))),
        "positions to learn": set_config("model", positions="learned", max_positions=10**6),
        "positions that need even heads": set_config("model", positions="rotary", head_size=3),
        "another family": set_config("model", family="recurrent"),
        "wide": write(CONFIG, recurrent + "hidden: 1000000, embedding: 1000000}"),
        "deep recurrent": write(CONFIG, recurrent + "encoder_layers: 100, decoder_layers: 100}"),
        "deep": set_config("model", encoder_layers=100, decoder_layers=100),
        "untied": set_config("model", tie="none"),
        "a beam of 10^9": set_config("decoding", beam_size=10**9),
        "translations of 10^9": set_config("decoding", max_length_extra=10**9),
        "infinite translations": set_config("decoding", max_length_factor=float("inf")),
        "a vocabulary of 10^12 and what is unknown": set_config("tokens", vocabulary_size=10**12, layers=1),
        **each("a section", lambda value: write(CONFIG, f"model: {value}"), ["[1, 2]", "transformer", "{}", "null"]),
    }


def yaml_cases(canary: Path) -> dict[str, Change]:
    """What YAML can say beyond plain values."""
    touch = f"['touch {canary}']"
    tags = [
        *(f"!!python/object/apply:os.system {touch}", f"!!python/object/new:os.system {touch}"),
        *(f"!!python/object/apply:subprocess.Popen [{touch}]", "!!python/name:os.system", "!!python/module:os"),
        *("!!python/tuple [1]", "!!binary aGk=", "!!int ''", "!!bool maybe", "!!timestamp x", "!own x"),
    ]
    laughs = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    numbers = [f"0x{'f' * 1990}", f"0x{'f' * 90_000}", "1" + ":59" * 600, "9" * 5000, "1e999", "2024-13-45"]
    nested = ["[" * 90_000, "[" * 40_000 + "]" * 40_000, "{a: " * 20_000, "[" + "[]," * 30_000 + "]", "- " * 40_000]
    contents = [
        *(b"", b"\0", b"\xff\xfe", "model: ä".encode("latin-1"), "model: {}".encode("utf-16"), b"[1, 2]", b"7", b"{{"),
        *(b"--- 1\n--- 2", b"%YAML 9.9\n---\n", b"2024-13-45", b"\x1b[2J: 1", b'"\\e[2J": 1'),
    ]
    return {
        **each("tag", lambda tag: add_to_config(f"more: {tag}\n"), tags),
        **each("number", lambda number: add_to_config(f"more: {number}\n"), numbers),
        **each("nested", lambda text: add_to_config(f"more: {text}\n"), nested),
        **each("content", lambda content: write(CONFIG, content), contents),
        "a section twice": add_to_config("training: {seed: 5}\n"),
        "a key twice": write(CONFIG, "training: {seed: 1, seed: 2}\n"),
        "laughs": add_to_config("a0: &a0 [ha, ha, ha, ha]\n" + laughs),
        "laughs as a value": write(CONFIG, "recipe: &a [*a, *a]\n"),
        "merged": add_to_config("x: &x {seed: 1}\ny: {<<: *x}\n"),
        "100 MB": lambda folder: add_to_config("# " + "x" * 10**8)(folder),
        "1 TB": sparse(CONFIG, 2**40),
    }


# --- labels ---


def label_cases() -> dict[str, Change]:
    """What the labels of a classifier may be instead, and a file that is none."""

    def listed(labels: Any) -> Change:
        return write(LABELS, json.dumps(labels))

    def instead(make: Callable[[Path], object]) -> Change:
        def change(folder: Path) -> None:
            (folder / LABELS).unlink()
            make(folder / LABELS)

        return change

    no_json = [
        *(b"", b"\0", b"blue\ngreen\nred", b"[", b'["blue", "green", "red"', b'["blue", "green", "red"] more', b"'a'"),
        *(b"\xff\xfe", '["bl\xe4", "green", "red"]'.encode("latin-1"), json.dumps(CHOICES).encode("utf-16")),
        *(b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000, b"[" + b"9" * 5000 + b"]"),
    ]
    no_list = [None, True, 7, "blue green red", {"blue": 0, "green": 1, "red": 2}, {"0": "blue"}, float("nan")]
    others = [None, 7, 7.5, True, float("nan"), float("inf"), ["red"], {"red": 2}]
    faulty = [
        *("", " ", "red ", "\tred", "green", "blue", "x" * 201, "x" * 10**6),
        *("a\0b", "a\nb", "a\tb", "\x1b[2Jevil", "\x7f", "a\u2028b", "a\u202eb", "a\u200bb", "\ud800", "\ue000"),
    ]
    numbers = [0, 1, 2, 4, 100, 10_001, 10**6]
    return {
        **each("no JSON", lambda content: write(LABELS, content), no_json),
        **each("no list", listed, no_list),
        **each("among them", lambda value: listed([*CHOICES[:2], value]), others),
        **each("label", lambda label: listed([*CHOICES[:2], label]), faulty),
        **each("number of labels", lambda count: listed([f"label {number}" for number in range(count)]), numbers),
        "all the same": listed(["red"] * 3),
        "100 MB": write(LABELS, json.dumps(["x" * 10**8])),
        "1 TB": sparse(LABELS, 2**40),
        "gone": instead(nothing),
        "a folder": instead(Path.mkdir),
        "a pipe that nobody writes": instead(os.mkfifo),
        "a device": instead(lambda path: path.symlink_to("/dev/zero")),
    }
