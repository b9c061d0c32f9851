"""Bodies of strangers: bounded in size, depth and time, and read without traps."""

import asyncio
import gzip
import json
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from limelight.serving.body import (
    DISCARDED,
    MAX_FIELDS,
    MAX_KEYS,
    ClientLeftError,
    closes,
    read_body,
    read_fields,
    read_query,
)
from limelight.serving.refusal import Refusal

JSON = Headers({"content-type": "application/json"})
FORM = Headers({"content-type": "application/x-www-form-urlencoded"})


class Pipe:
    """A connection that brings these chunks; how many were taken is counted."""

    def __init__(self, chunks: Iterator[bytes] | list[bytes], *, leaves: bool = False) -> None:
        self._chunks, self._leaves, self.taken = iter(chunks), leaves, 0

    async def receive(self) -> dict[str, Any]:
        self.taken += 1
        chunk = next(self._chunks, None)
        if chunk is None:
            return {"type": "http.disconnect"} if self._leaves else {"type": "http.request", "body": b""}
        return {"type": "http.request", "body": chunk, "more_body": True}


def body(pipe: Pipe, limit: int = 100, seconds: float = 30.0, **headers: str) -> bytes:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return asyncio.run(read_body(pipe.receive, Headers(named), limit=limit, seconds=seconds))


def fields(content: bytes, headers: Headers = JSON) -> dict[str, Any]:
    return asyncio.run(read_fields(content, headers))[0]


def refusal(content: bytes, headers: Headers = JSON) -> Refusal:
    with pytest.raises(Refusal) as caught:
        fields(content, headers)
    return caught.value


def test_a_body_at_the_limit_is_read_and_one_above_is_not() -> None:
    assert body(Pipe([b"a" * 60, b"b" * 40])) == b"a" * 60 + b"b" * 40
    with pytest.raises(Refusal) as caught:
        body(Pipe([b"a" * 60, b"b" * 41]))
    assert caught.value.status == 413


def test_one_that_is_announced_as_too_large_is_not_read_at_all() -> None:
    pipe = Pipe([b"a"])
    with pytest.raises(Refusal) as caught:
        body(pipe, content_length="101")
    assert caught.value.status == 413
    assert pipe.taken == 0


def test_endless_chunks_end_soon_after_the_limit() -> None:
    """What is read beyond it lets the sender get to the answer."""
    pipe = Pipe(iter(lambda: b"a", b"b"))
    with pytest.raises(Refusal):
        body(pipe)
    assert pipe.taken == 101 + DISCARDED


def test_a_slow_body_ends_at_its_time() -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"a", "more_body": True}

    with pytest.raises(Refusal) as caught:
        asyncio.run(read_body(receive, Headers({}), limit=10**9, seconds=0.05))
    assert caught.value.status == 408


def test_who_leaves_is_noticed() -> None:
    with pytest.raises(ClientLeftError):
        body(Pipe([b"a"], leaves=True))


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_a_compressed_body_is_counted_as_it_comes_out(pack: Any) -> None:
    encoding = {"content_encoding": "gzip" if pack is gzip.compress else "deflate"}
    packed = pack(b"a" * 100)
    assert body(Pipe([packed[:7], packed[7:]]), **encoding) == b"a" * 100
    bomb = pack(bytes(10_000_000))
    with pytest.raises(Refusal) as caught:
        body(Pipe([bomb]), limit=20_000, **encoding)
    assert caught.value.status == 413


def test_what_is_inflated_stays_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than one byte above the limit ever comes out of a bomb."""
    out: list[int] = []
    real = zlib.decompressobj

    class Watched:
        def __init__(self, wbits: int) -> None:
            self._stream = real(wbits)

        def decompress(self, chunk: bytes, most: int) -> bytes:
            part = self._stream.decompress(chunk, most)
            out.append(len(part))
            return part

        eof, unused_data = False, b""

    monkeypatch.setattr(zlib, "decompressobj", Watched)
    with pytest.raises(Refusal):
        body(Pipe([gzip.compress(bytes(10_000_000))]), limit=20_000, content_encoding="gzip")
    assert sum(out) == 20_001


@pytest.mark.parametrize(("encoding", "status"), [("br", 415), ("zstd", 415), ("gzip", 400), ("deflate", 400)])
def test_other_and_damaged_compressions_are_refused(encoding: str, status: int) -> None:
    with pytest.raises(Refusal) as caught:
        body(Pipe([b"no such thing"]), content_encoding=encoding)
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (gzip.compress(b"a" * 50, mtime=0)[:-9], "cut off"),
        (gzip.compress(b"a", mtime=0) + gzip.compress(b"b", mtime=0), "one part"),
        (zlib.compress(b"a")[:-1], "cut off"),
    ],
)
def test_a_compressed_body_has_one_part_and_its_end(content: bytes, says: str) -> None:
    with pytest.raises(Refusal, match=says) as caught:
        body(Pipe([content]), content_encoding="gzip")
    assert caught.value.status == 400


def test_a_compressed_body_that_stops_holds_what_was_sent() -> None:
    """It is decompressed when all of it is there."""
    packed = gzip.compress(bytes(4 << 20))[:4000]

    async def stalled() -> int:
        async def receive() -> dict[str, Any]:
            if not sent:
                await asyncio.sleep(60)
            return {"type": "http.request", "body": sent.pop(), "more_body": True}

        sent = [packed] * 20
        headers = Headers({"content-encoding": "gzip"})
        reading = [asyncio.ensure_future(read_body(receive, headers, limit=4 << 20, seconds=60)) for _ in range(20)]
        tracemalloc.start()
        await asyncio.sleep(0.1)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        for each in reading:
            each.cancel()
        return held

    assert asyncio.run(stalled()) < 1 << 20


def test_a_connection_is_kept_where_the_rest_is_worth_reading() -> None:
    assert not closes({"content-length": "1000000"})
    assert closes({"content-length": "100000000"})
    assert closes({"transfer-encoding": "chunked"})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "not valid JSON"),
        (b"[1]", "must be a JSON object"),
        (b'"a"', "must be a JSON object"),
        (b'{"a": NaN}', "NaN"),
        (b'{"a": -Infinity}', "Infinity"),
        (b'{"a": 1, "a": 2}', "same key"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"\\udc00": "a"}', "surrogate"),
        (b'{"a": "\xff"}', "UTF-8"),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "deep"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "a number of more than 4300 digits"),
        (json.dumps({str(number): 1 for number in range(MAX_KEYS + 1)}).encode(), "keys"),
    ],
)
def test_traps_of_json_are_refused(content: bytes, says: str) -> None:
    caught = refusal(content)
    assert caught.status == 400
    assert says in caught.message


def test_what_is_allowed_in_json_is_read() -> None:
    assert fields(b'\xef\xbb\xbf{"a": "\\ud83d\\ude00", "b": [1, {"c": null}]}') == {"a": "😀", "b": [1, {"c": None}]}
    assert fields(b"  ") == {}


def test_forms_and_queries() -> None:
    assert fields(b"text=a+b&text=%C3%BC&lang=DE&empty=", FORM) == {"text": ["a b", "ü"], "lang": "DE", "empty": ""}
    assert read_query(b"q=Hallo%20du&source=auto") == {"q": "Hallo du", "source": "auto"}
    assert fields("text=Der Hund schläft.".encode(), FORM) == {"text": "Der Hund schläft."}  # as curl -d sends it
    assert fields(b"a=1", Headers({})) == {"a": "1"}
    assert fields(b'{"a": 1}', Headers({})) == {"a": 1}
    for bad in (b"a=%FF", b"a=\xff", b"a=%ED%A0%80"):
        assert refusal(bad, FORM).status == 400
    assert refusal(b"&".join(b"a=1" for _ in range(MAX_FIELDS + 1)), FORM).status == 400
    assert refusal(b"a", Headers({"content-type": "text/csv"})).status == 415
    assert "Content-Type: application/json" in refusal(b'{"a": 1}', FORM).message


def multipart(*parts: bytes) -> tuple[bytes, Headers]:
    content = b"".join(b"--x\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--x--\r\n"
    return content, Headers({"content-type": "multipart/form-data; boundary=x"})


@pytest.mark.parametrize("charset", ["punycode", "utf-7", "unicode_escape", "idna", "no-such", '"punycode"'])
def test_a_form_in_another_charset_is_refused_before_it_is_decoded(charset: str) -> None:
    """Python's punycode takes quadratic time: minutes for four megabytes."""
    name = b"x" * 32_000 + b"-" + b"a" * 32_000
    content, _ = multipart(b'name="q-"\r\n\r\n' + name)
    headers = Headers({"content-type": f"multipart/form-data; boundary=x; charset={charset}"})
    started = time.process_time()
    assert refusal(content, headers).status == 415
    assert time.process_time() - started < 0.1


def test_a_form_may_say_that_it_is_utf_8() -> None:
    content, _ = multipart('name="q"\r\n\r\nschläft'.encode())
    headers = Headers({"content-type": "multipart/form-data; charset=UTF-8; boundary=x"})
    assert fields(content, headers) == {"q": "schläft"}


def test_a_large_file_of_a_form_is_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("a file was written")

    monkeypatch.setattr("tempfile.SpooledTemporaryFile.rollover", refused)
    content, headers = multipart(b'name="file"; filename="a.txt"\r\n\r\n' + bytes(2 << 20))
    assert asyncio.run(read_fields(content, headers))[1]["file"].content == bytes(2 << 20)


def test_files_come_with_their_names() -> None:
    content, headers = multipart(b'name="target_lang"\r\n\r\nDE', b'name="file"; filename="a.txt"\r\n\r\nHello\r\n')
    found, uploads = asyncio.run(read_fields(content, headers))
    assert found == {"target_lang": "DE"}
    assert uploads["file"] == ("a.txt", b"Hello\r\n")


def test_a_field_that_occurs_several_times_is_a_list_in_either_form() -> None:
    content, headers = multipart(*(f'name="text"\r\n\r\n{each}'.encode() for each in "abc"), b'name="q"\r\n\r\nd')
    assert fields(content, headers) == fields(b"text=a&text=b&text=c&q=d", FORM) == {"text": ["a", "b", "c"], "q": "d"}


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"--x", "multipart/form-data"),
        (b"\x00\xff", "multipart/form-data; boundary="),
        (multipart(b"\r\n\r\na")[0], "multipart/form-data; boundary=x"),
        (multipart(*[b'name="f"; filename="f"\r\n\r\na'] * 3)[0], "multipart/form-data; boundary=x"),
    ],
)
def test_damaged_forms_are_refused(content: bytes, kind: str) -> None:
    assert refusal(content, Headers({"content-type": kind})).status == 400


@given(
    st.binary(max_size=300),
    st.sampled_from(["application/json", FORM["content-type"], "multipart/form-data; boundary=x", ""]),
)
def test_any_bytes_are_read_or_refused(content: bytes, kind: str) -> None:
    with suppress(Refusal):
        assert isinstance(fields(content, Headers({"content-type": kind})), dict)
