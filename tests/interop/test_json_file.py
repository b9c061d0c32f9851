"""JSON objects, and everything that is none."""

from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.interop.files import read_json


def test_the_vocabulary_of_nllb_is_not_too_large(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(b'{"a": "%b"}' % (b"x" * 33_000_000))
    assert list(read_json(path)) == ["a"]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "cannot be read: Expecting value"),
        (b"{", "cannot be read: Expecting property name"),
        (b'{"a": "\xff"}', "cannot be read: .* it is incomplete or damaged"),
        (rb'{"a": "\ud800"}', "surrogates not allowed"),
        (b"[" * 100_000, "cannot be read: maximum recursion depth"),
        (b"[1]", "holds a list, not an object"),
        (b"7", "holds a int"),
    ],
)
def test_anything_else_is_told_with_its_name(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"a.json: .*{fault}"):
        read_json(path)
