"""Lines from a pipe: the same as from a file, and a pause wherever the writer waits."""

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from limelight.formats.lines import chunks, read_live


@contextmanager
def pipe() -> Iterator[tuple[io.BufferedReader, int]]:
    """The reading end as a stream, and the writing end."""
    reading, writing = os.pipe()
    with open(reading, "rb") as stream:
        yield stream, writing


def test_a_pause_comes_when_the_writer_waits() -> None:
    """Without a pause `next` would wait for ever: this test then ends by the alarm of its writer."""
    with pipe() as (stream, writing):
        lines = read_live(stream, "pipe")
        alarm = threading.Timer(20, os.close, [writing])
        alarm.start()
        for some in (["a"], ["b", "c"], [""]):
            os.write(writing, "".join(f"{line}\n" for line in some).encode())
            assert [next(lines) for _ in (*some, None)] == [*some, None]
        os.write(writing, b"half a line")
        threading.Timer(0.05, os.write, [writing, b" and the rest\nand half of the next"]).start()
        assert [next(lines), next(lines)] == ["half a line and the rest", None]
        alarm.cancel()
        os.close(writing)
        assert list(lines) == ["and half of the next"]


def test_chunks_end_at_pauses() -> None:
    assert list(chunks(["a", "b", "c", None, "d", None, None, "e"], 2)) == [["a", "b"], ["c"], ["d"], ["e"]]
    assert list(chunks([None], 2)) == list(chunks([], 2)) == []
    assert list(chunks(map(str, range(5)), 5)) == [["0", "1", "2", "3", "4"]]
