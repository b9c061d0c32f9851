"""JSONL: an object a line; whatever else stands there is named."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.formats.lines import scan_jsonl
from limelight.text import BadLine, Pair


def scan(folder: Path, content: str) -> list[Pair | BadLine]:
    path = folder / "t.jsonl"
    path.write_bytes(content.encode())
    return list(scan_jsonl(path))


def test_objects_make_pairs_with_their_place(tmp_path: Path) -> None:
    content = (
        '{"source": "a", "target": "ä", "id": {"source": [1], "source": 2}}\n{"target": "d\\u00e9", "source": ""}\n'
    )
    file = str(tmp_path / "t.jsonl")
    assert scan(tmp_path, content) == [Pair("a", "ä", file, 1), Pair("", "dé", file, 2)]


EXAMPLE = r"a \.jsonl line is \{\"source\": \"\.\.\.\", \"target\": \"\.\.\.\"\}$"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", r"^not valid JSON \(Expecting value at character 1\); " + EXAMPLE),
        ('{"source": "a"', r"^not valid JSON \(.* at character 15\); " + EXAMPLE),
        ('{"source": "a\tb", "target": "c"}', r"^not valid JSON \(Invalid control character at at character 14\); "),
        ('{"source": "a", "target": "b"} {"source": "c", "target": "d"}', r"^not valid JSON \(Extra data at "),
        ('{"source": "a", "target": "b"}\r{"source": "c", "target": "d"}', r"^not valid JSON \(Extra data at "),
        ('{"source": "a", "target": "b", "score": NaN}', r"^not valid JSON \(NaN is not valid JSON\); " + EXAMPLE),
        ('{"source": -Infinity, "target": "b"}', r"^not valid JSON \(-Infinity is not valid JSON\); " + EXAMPLE),
        ("[" * 200_000, "^JSON nested too deeply; " + EXAMPLE),
        ('{"source": "a", "target": "b", "x": ' + '{"x":' * 100_000 + "0" + "}" * 100_001, "^JSON nested too deeply; "),
        ("9" * 10_000, r"^not valid JSON \(Exceeds the limit"),
        ('["a", "b"]', "^not a JSON object but a list; " + EXAMPLE),
        ('"a"', "^not a JSON object but text; " + EXAMPLE),
        ("true", "^not a JSON object but true or false; " + EXAMPLE),
        ("7.5", "^not a JSON object but a number; " + EXAMPLE),
        ('{"source": "a", "Target": "b"}', "^the object has no 'target'; " + EXAMPLE),
        ("{}", "^the object has no 'source'; " + EXAMPLE),
        ('{"source": "a", "target": "b", "source": "c"}', "^the object has 'source' more than once; " + EXAMPLE),
        ('{"source": "a", "target": 5}', "^'target' is not text but a number; " + EXAMPLE),
        ('{"source": null, "target": "b"}', "^'source' is not text but null; " + EXAMPLE),
        ('{"source": {"a": "b"}, "target": "b"}', "^'source' is not text but an object; " + EXAMPLE),
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


@given(st.lists(st.tuples(SIDE, SIDE), max_size=5), st.booleans())
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, sides: list[tuple[str, str]], ascii_only: bool
) -> None:
    records = [{"source": source, "target": target} for source, target in sides]
    content = "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records)
    pairs = scan(tmp_path_factory.mktemp("jsonl"), content)
    assert [(pair.source, pair.target) for pair in pairs if isinstance(pair, Pair)] == sides
