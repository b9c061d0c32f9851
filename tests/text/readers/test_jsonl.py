"""JSONL: an object a line; whatever else stands there is named."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text import BadLine, Pair
from limelight.text.readers.jsonl import scan_jsonl


def scan(folder: Path, content: str) -> list[Pair | BadLine]:
    path = folder / "t.jsonl"
    path.write_bytes(content.encode())
    return list(scan_jsonl(path))


def test_objects_make_pairs_with_their_place(tmp_path: Path) -> None:
    content = '{"source": "a", "target": "ä", "id": 7}\n{"target": "d\\u00e9", "source": ""}\n'
    file = str(tmp_path / "t.jsonl")
    assert scan(tmp_path, content) == [Pair("a", "ä", file, 1), Pair("", "dé", file, 2)]


EXAMPLE = r"a \.jsonl line is \{\"source\": \"\.\.\.\", \"target\": \"\.\.\.\"\}$"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", r"^not valid JSON \(Expecting value.*\); " + EXAMPLE),
        ('{"source": "a"', r"^not valid JSON \(.*\); " + EXAMPLE),
        ("[" * 200_000, r"^not valid JSON \(.*\); " + EXAMPLE),
        ("9" * 10_000, r"^(not valid JSON|a JSON int)"),
        ('["a", "b"]', "^a JSON list, not an object; " + EXAMPLE),
        ('{"source": "a", "Target": "b"}', "^the object has no 'target'; " + EXAMPLE),
        ("{}", "^the object has no 'source' and no 'target'; " + EXAMPLE),
        ('{"source": "a", "target": 5}', "^'target' is int, not text; " + EXAMPLE),
        ('{"source": null, "target": "b"}', "^'source' is NoneType, not text; " + EXAMPLE),
        ('{"source": "a\\u0000", "target": "b"}', "^'source' holds a NUL character or half of a surrogate pair$"),
        ('{"source": "a", "target": "\\ud83d"}', "^'target' holds a NUL character or half of a surrogate pair$"),
    ],
)
def test_what_is_no_pair_is_named(line: str, reason: str, tmp_path: Path) -> None:
    good = '{"source": "a", "target": "b"}\n'
    first, bad, last = scan(tmp_path, good + line + "\n" + good)
    assert isinstance(first, Pair)
    assert isinstance(last, Pair)
    assert isinstance(bad, BadLine)
    assert bad.line == 2
    with pytest.raises(ValueError, match=reason):
        raise ValueError(bad.reason)


SIDE = st.text(st.characters(exclude_characters="\0", codec="utf-8"))


@given(st.lists(st.tuples(SIDE, SIDE)), st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, sides: list[tuple[str, str]], ascii_only: bool
) -> None:
    records = [{"source": source, "target": target} for source, target in sides]
    content = "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records)
    pairs = scan(tmp_path_factory.mktemp("jsonl"), content)
    assert [(pair.source, pair.target) for pair in pairs if isinstance(pair, Pair)] == sides
