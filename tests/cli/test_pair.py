"""`limelight pair`: documents and folders in, pairs and a list of the rest out."""

import json
from pathlib import Path
from random import Random
from unicodedata import normalize

import pytest

from limelight.corpus.pairing.pair import plain
from limelight.formats import read_pairs
from limelight.formats.html import html_units
from tests.cli.conftest import Limelight

WORDS = """
the der and und of von to zu in im is ist that dass it es was war he er for für on auf are sind with mit as wie his sein
they sie at bei be sei this dies have haben from aus or oder had hatte by durch not nicht but aber
"""
ENGLISH, GERMAN = WORDS.split()[::2], WORDS.split()[1::2]


def documents(count: int, seed: int = 1) -> tuple[list[str], list[str]]:
    """Sentences and their translation word for word."""
    random = Random(seed)
    names = [f"Ort{chr(65 + number % 26)}{chr(97 + number // 26)}" for number in range(60)]
    ours, theirs = [], []
    for _ in range(count):
        chosen = [random.randrange(len(ENGLISH)) for _ in range(random.randrange(4, 9))]
        name = random.choice(names)
        ours.append(f"He saw {name} {' '.join(ENGLISH[each] for each in chosen)} there.")
        theirs.append(f"Er sah {name} {' '.join(GERMAN[each] for each in chosen)} dort.")
    return ours, theirs


def test_a_document_of_another_format_is_paired(limelight: Limelight, tmp_path: Path) -> None:
    ours, theirs = documents(60)
    (tmp_path / "book.md").write_text("\n\n".join(ours), encoding="utf-8")
    (tmp_path / "buch.html").write_text(
        "".join(f"<p>{text}</p>\n" for text in theirs[:30] + theirs[31:]), encoding="utf-8"
    )
    ended = limelight("pair", tmp_path / "book.md", tmp_path / "buch.html", "-o", tmp_path / "pairs.tmx")
    assert ended.code == 0, ended.err
    pairs = list(read_pairs([tmp_path / "pairs.tmx"], "en", "de"))
    known = set(zip(ours, theirs, strict=True))
    right = [pair for pair in pairs if (pair.source, pair.target) in known]
    assert len(right) >= 55
    assert len(pairs) - len(right) <= 3
    left_out = (tmp_path / "pairs-left-out.tsv").read_text(encoding="utf-8")
    assert f"book.md\t61\tno translation was found on the other side\t{ours[30]}" in left_out
    assert "pairs-left-out.tsv" in ended.err


def test_what_is_between_two_words_separates_them() -> None:
    (unit,) = html_units("<p>One<br>two, 3&nbsp;km of <b>ro</b>ad</p>")
    assert plain(unit) == "One two, 3 km of road"


def test_folders_are_matched_by_name(limelight: Limelight, tmp_path: Path) -> None:
    for side, language in enumerate(("en", "de")):
        for number in range(3):
            text = documents(25, seed=number)[side]
            folder = tmp_path / language / "part"
            folder.mkdir(parents=True, exist_ok=True)
            name = normalize(("NFC", "NFD")[side], f"page-é{number}.{language}.txt")
            (folder / name).write_text("\n\n".join(text), encoding="utf-8")
    (tmp_path / "en" / "alone.txt").write_text("One more.", encoding="utf-8")
    ended = limelight("pair", tmp_path / "en", tmp_path / "de", "-o", tmp_path / "pairs.jsonl")
    assert ended.code == 0, ended.err
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    known = {pair for number in range(3) for pair in zip(*documents(25, seed=number), strict=True)}
    assert sum((row["source"], row["target"]) in known for row in rows) >= 70
    assert all(0.5 <= row["confidence"] <= 1 for row in rows)
    assert rows[0]["source-place"].endswith("page-é0.en.txt:1")
    assert "alone.txt: no document has this name on the other side" in ended.err


def test_no_output_is_written_if_no_pair_is_found(
    limelight: Limelight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("There is nobody in the garden today.")
    Path("b.txt").write_text("Alles klar.")
    ended = limelight(
        "pair", "a.txt", "b.txt", "--from", "en", "--to", "de", "--no-model", "--threshold", 1, "-o", "p.tmx"
    )
    assert ended.code == 1
    assert "no pair was found, for the reasons above; p.tmx: not written" in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "p-left-out.tsv"]
