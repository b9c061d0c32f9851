"""Bodies of untrusted requests: bounded in size and time, and read or refused."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect, Request

from limelight.serving.dialects.libretranslate import Detect
from limelight.serving.dialects.own import Translate
from limelight.serving.fields import MAX_FIELDS, Upload, read_body, read_fields, read_form, read_query
from limelight.serving.limits import Limits
from limelight.serving.refusal import Refusal

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=x"


def request(chunks: Sequence[bytes] = (), kind: str = "", pause: float = 0.0, **headers: str) -> Request:
    """A request whose body comes in these parts, and whose client leaves then."""
    named = {**({"content-type": kind} if kind else {}), **headers}
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()]
    left = list(chunks)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(pause)
        if not left:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": True}

    return Request({"type": "http", "method": "POST", "headers": raw}, receive)


def body(given: Request, *, upload: bool = False, **limits: Any) -> bytes:
    return asyncio.run(read_body(given, Limits(body=10, document=20, **limits), upload=upload))


def fields(content: bytes, kind: str = JSON) -> dict[str, Any]:
    return asyncio.run(read_fields(request(kind=kind), content))


def refusal(content: bytes, kind: str = JSON) -> Refusal:
    with pytest.raises(Refusal) as caught:
        fields(content, kind)
    return caught.value


@pytest.mark.parametrize("announced", [{}, {"content_length": "21"}])
def test_a_body_above_its_limit_is_not_read_to_its_end(announced: dict[str, str]) -> None:
    endless = request([b"12345"] * 1000, **announced)
    with pytest.raises(Refusal) as caught:
        body(endless, upload=True)
    assert (caught.value.status, "--max-upload" in caught.value.message) == (413, True)
    with pytest.raises(Refusal, match="--max-body"):
        body(request([b"12345"] * 3))


def test_a_slow_body_and_a_client_that_leaves() -> None:
    with pytest.raises(Refusal) as caught:
        body(request([b"1"] * 100, pause=0.02), body_seconds=0.05)
    assert caught.value.status == 408
    with pytest.raises(ClientDisconnect):
        body(request([b"123"]))


def test_a_compressed_body_is_refused() -> None:
    with pytest.raises(Refusal) as caught:
        body(request([b"x"], content_encoding="gzip"))
    assert caught.value.status == 415


@pytest.mark.parametrize(
    "content",
    [
        b"{", b"[1]", b'"a"', b'{"a": NaN}', b'{"a": -Infinity}',
        b'{"a": "\\ud800"}', b'{"\\udc00": "a"}',
        b'{"a": "\xff"}', b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"a":' * 9999 + b"1" + b"}" * 9999,
        b'{"a": ' + b"9" * 100_000 + b"}",
    ],
)  # fmt: skip
def test_traps_of_json_are_refused(content: bytes) -> None:
    assert refusal(content).status == 400


def test_what_is_allowed_in_json_is_read() -> None:
    assert fields(b'\xef\xbb\xbf{"a": "\\ud83d\\ude00", "b": [1, {"c": null}]}') == {"a": "😀", "b": [1, {"c": None}]}
    assert fields(b"  ") == {}


def test_forms_and_queries() -> None:
    assert fields(b"text=a+b&text=%C3%BC&lang=DE&empty=", FORM) == {"text": ["a b", "ü"], "lang": "DE", "empty": ""}
    assert read_query(b"q=Hallo%20du&source=auto") == {"q": "Hallo du", "source": "auto"}
    assert fields("text=Der Hund schläft.".encode(), FORM) == {"text": "Der Hund schläft."}  # as curl -d sends it
    assert fields(b"a=1", "") == {"a": "1"}
    assert fields(b'{"a": 1}', "") == {"a": 1}
    for bad in (b"a=%FF", b"a=\xff", b"a=%ED%A0%80", b"&".join(b"a=1" for _ in range(MAX_FIELDS + 1))):
        assert refusal(bad, FORM).status == 400
    assert refusal(b"a", "text/csv").status == 415
    assert "Content-Type: application/json" in refusal(b'{"a": 1}', FORM).message


def multipart(*parts: bytes) -> bytes:
    return b"".join(b"--x\r\nContent-Disposition: form-data; " + part + b"\r\n" for part in parts) + b"--x--\r\n"


@pytest.mark.parametrize(
    "charset",
    [
        "punycode",
        "utf-7",
        "unicode_escape",
        "idna",
        "no-such",
        '"punycode"',
        "utf-8; charset=utf-7",
        'utf-8"; charset =idna',
    ],
)
def test_a_form_in_another_charset_is_refused_before_it_is_decoded(charset: str) -> None:
    """Python's punycode takes quadratic time: minutes for four megabytes."""
    content = multipart(b'name="q-"\r\n\r\n' + b"x" * 32_000 + b"-" + b"a" * 32_000)
    started = time.process_time()
    assert refusal(content, f"{MULTIPART}; charset={charset}").status == 415
    assert time.process_time() - started < 0.5


def test_a_number_beyond_those_of_json_is_refused() -> None:
    """JSON may have it, and it would be null for an engine: a setting that is not given."""
    for sent in (b'{"text": "a", "length_penalty": 1e400}', b'{"text": "a", "sampling": {"top_p": -1e400}}'):
        with pytest.raises(Refusal, match="finite"):
            read_form(Translate, fields(sent))


def test_files_and_fields_of_a_form() -> None:
    content = multipart(*(f'name="text"\r\n\r\n{each}'.encode() for each in "aü"), b'name="q"\r\n\r\nd',
                        b'name="file"; filename="a.txt"\r\n\r\nHello\r\n' + bytes(2 << 20))  # fmt: skip
    found = fields(content, f"{MULTIPART}; charset=UTF-8")
    assert found.pop("file") == Upload("a.txt", b"Hello\r\n" + bytes(2 << 20))
    assert found == {"text": ["a", "ü"], "q": "d"}


def test_a_file_is_no_text() -> None:
    """Nor is its name."""
    with pytest.raises(Refusal, match=r"^q: "):
        read_form(Detect, {"q": Upload("a.txt", b"Hello")})


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"--x", "multipart/form-data"),
        (b"\x00\xff", "multipart/form-data; boundary="),
        (multipart(b"\r\n\r\na"), MULTIPART),
        (multipart(*[b'name="f"; filename="f"\r\n\r\na'] * 3), MULTIPART),
    ],
)
def test_damaged_forms_are_refused(content: bytes, kind: str) -> None:
    assert refusal(content, kind).status == 400


@given(st.binary(max_size=300), st.sampled_from([JSON, FORM, MULTIPART, ""]))
def test_any_bytes_are_read_or_refused(content: bytes, kind: str) -> None:
    with suppress(Refusal):
        assert isinstance(fields(content, kind), dict)
