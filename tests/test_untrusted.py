"""What strangers wrote: no waiting, no more than was expected, and values that are plain."""

import os
import socket
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import shown
from limelight.untrusted import read_plain, read_yaml, write_yaml


def refused(text: str) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        read_yaml(text)
    return str(caught.value)


# --- files ---


def test_a_file_is_read_up_to_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"seven b")
    assert read_plain(path, 7) == b"seven b"
    with pytest.raises(OSError, match="7 bytes, and at most 6 are expected"):
        read_plain(path, 6)


def test_a_large_file_is_refused_by_its_size_alone(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(2**40)  # a hole: nothing lies on the disk
    with pytest.raises(OSError, match="1,099,511,627,776 bytes"):
        read_plain(tmp_path / "large", 7)


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path in (*tmp_path.iterdir(), tmp_path, Path("/dev/zero")):
            with pytest.raises(OSError, match=r"not a regular file|Is a directory|No such device"):
                read_plain(path, 7)
    assert set(os.listdir("/proc/self/fd")) == before, "files are left open"


# --- YAML ---


@pytest.mark.parametrize(
    "text", ["", "a: 1\nb: [x, 0.5, true, null]\nc: {d: 'e: f'}\n", "- 1\n- é\n", "a: ! x", "? b\n: c", "a: 'x*y&z!'"]
)
def test_plain_values_are_read_as_by_everybody(text: str) -> None:
    assert read_yaml(text) == yaml.safe_load(text)


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8"))


@given(st.dictionaries(st.sampled_from("abc"), PLAIN | st.lists(PLAIN, max_size=3)))
def test_what_is_written_is_read(values: dict[str, object]) -> None:
    assert list(read_yaml(write_yaml(values)).items()) == list(values.items())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: &x [1]\n", "line 2: anchors and aliases (&name, *name) are not allowed; write the value out"),
        ("a: !!python/object/apply:os.system ['true']", "line 1: tags such as tag:yaml.org,2002:python/object/apply"),
        (
            "a: !!int ''",
            "tags such as tag:yaml.org,2002:int are not allowed",
        ),  # the library itself fails with IndexError
        ("a: !own x", "tags such as !own are not allowed"),
        ("a: 1\nb: 2\na: 3", "line 3: a is given twice"),
        ("a:\n  yes: 1\n  true: 2", "line 3: True is given twice"),
        ("a: " + "x" * 2001, "line 1: a value of 2,001 characters; at most 2,000 are allowed"),
        ("[" * 600, "line 1: nested too deeply; at most 50 levels are allowed"),
        ("\udc80: 1", "xdc80|udc80"),
        ("--- 1\n--- 2", "line 2: but found another document"),
        ("a: \x00", "x0000|control characters"),
        ("? [a]\n: b", "line 1: found unhashable key"),
        ("2024-13-45", "month must be in 1..12"),
    ],
)
def test_what_is_more_than_plain_is_refused_by_line(text: str, fault: str) -> None:
    assert any(each in refused(text) for each in fault.split("|"))


def test_a_message_is_short_whatever_it_quotes() -> None:
    assert len(refused(f"a: !{'x' * 50_000} b")) < 300
    assert len(refused(f"a: !{'x' * 50_000}!b c")) < 300


# --- text in messages ---


def test_a_terminal_is_told_nothing_it_would_obey() -> None:
    assert shown("a\x1b]0;owned\x07\nb\u202ec") == "a\ufffd]0;owned\ufffd\ufffdb\ufffdc"
    assert shown("Straße 日本 ▁x") == "Straße 日本 ▁x"
