"""JSONL: an object a line; whatever else stands there is named."""

import json
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats import names_languages, read_pairs
from limelight.formats.opening import holds_both_sides
from limelight.formats.tables import scan_jsonl
from limelight.text.pair import BadLine, Pair


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
        ("", r"^not valid JSON \(Expecting value: line 1 column 1 \(char 0\)\); " + EXAMPLE),
        ('{"source": "a"', r"^not valid JSON \("),
        ("[" * 200_000, r"^not valid JSON \(.*recursion depth"),
        ("9" * 10_000, r"^not valid JSON \(Exceeds the limit"),
        ('["a", "b"]', "^not a JSON object; " + EXAMPLE),
        ('{"source": "a", "id": "b"}', "^the object has no text 'target'; " + EXAMPLE),
        ('{"source": null, "target": "b"}', "^the object has no text 'source'; " + EXAMPLE),
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


def test_a_translation_without_the_name_of_a_language_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"translation": {"": "a"}}\n{"en": "a", "de": "b"}\n')
    unused = list[BadLine]()
    assert [pair.line for pair in read_pairs([tmp_path / "t.jsonl"], on_unused=unused.append)] == [2]
    assert [line.line for line in unused] == [1]


SENTENCES = [("a\tb", "ä"), ("c", "d"), ("", "e")]
RECORDS = {
    "sides": [{"source": one, "target": other} for one, other in SENTENCES],
    "languages": [{"id": "1", "de": other, "en": one} for one, other in SENTENCES],
    "numbers": [{"idx": 3, "de": other, "en": one} for one, other in SENTENCES],
    "translation": [{"translation": {"en": one, "de": other}, "score": 1.5} for one, other in SENTENCES],
}


@pytest.mark.parametrize("kind", RECORDS)
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_objects_as_people_have_them(kind: str, suffix: str, tmp_path: Path) -> None:
    """In lines and in an array, of sides and of languages."""
    path, records = tmp_path / f"t{suffix}", RECORDS[kind]
    path.write_text(json.dumps(records, indent=1) if suffix == ".json" else "\n".join(map(json.dumps, records)))
    pairs = list(read_pairs([path], "en", "de"))
    assert [(pair.source.replace("\t", " "), pair.target) for pair in pairs] == [("a b", "ä"), *SENTENCES[1:]]
    assert [pair.line for pair in pairs] == sorted({pair.line for pair in pairs})
    assert names_languages([path]) == (kind != "sides")
    if kind != "sides":
        assert [(pair.source, pair.target) for pair in read_pairs([path], "de", "en")][1] == ("d", "c")


@pytest.mark.parametrize(("text", "reason"), [("[1]", "not a JSON"), ("[{", "not valid JSON"), ("[{]", "not valid")])
def test_an_array_that_is_none(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(UserError, match=reason):
        list(read_pairs([path]))


@pytest.mark.parametrize(("between", "after"), [("\t", "\tCC-BY 2.0"), ("\t", ""), (" ||| ", "")])
def test_a_text_file_with_two_columns(between: str, after: str, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("".join(f"{one}{between}{other}{after}\n" for one, other in SENTENCES[1:]) * 300)
    assert [(pair.source, pair.target) for pair in read_pairs([path])] == SENTENCES[1:] * 300
    assert holds_both_sides(path)
    path.write_text(f"one{between}two\nthree\n")
    assert not holds_both_sides(path)


@pytest.mark.parametrize(("record", "target"), [
    ({"translation": {"en": "a", "no": "b"}}, "no"), ({"translation": {"en": "a", "id": "b"}}, "id"),
    ({"translation": {"English": "a", "German": "b", "note": None}}, "de"),
    ({"en": "a", "no": "b"}, "no"), ({"no": "1", "en": "a", "de": "b"}, "de"),
    ({"en": "a", "de": "b", "fr": None}, "de"),
])  # fmt: skip
def test_a_language_may_look_like_a_number(record: dict, target: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    [pair] = read_pairs([tmp_path / "a.jsonl"], "en", target)
    assert (pair.source, pair.target) == ("a", "b")
