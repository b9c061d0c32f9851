"""`limelight translate` with documents: a file into a file, a folder into a folder."""

import json
from pathlib import Path

from tests.cli.conftest import Limelight

PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "The old dog sees {x}."\nmsgstr ""\n'


def test_a_file_into_a_file(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    path, output = tmp_path / "a.po", tmp_path / "b.po"
    path.write_text(PO, encoding="utf-8")
    ended = limelight("translate", "--model", trained, path, "-o", output)
    assert (ended.code, ended.out) == (0, "")
    assert "1 file, 1 segment, " in ended.err
    new = output.read_text(encoding="utf-8")
    assert "#, fuzzy" in new
    assert new.count("{x}") == 2
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.po", "b.po"]


def test_a_folder_into_a_folder_and_a_report(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.md").write_text("# A bird sings.\n")
    (tmp_path / "in" / "bad.json").write_text("{")
    (tmp_path / "in" / "table.csv").write_text("a,b")
    ended = limelight("translate", "--model", trained, tmp_path / "in", "-o", tmp_path / "out", "--report",
                      tmp_path / "report.tsv")  # fmt: skip
    assert ended.code == 1
    assert "2 files could not be translated" in ended.err
    assert "1 file, 1 segment, " in ended.err
    assert "left out: " in ended.err
    rows = (tmp_path / "report.tsv").read_text().splitlines()
    assert rows[0].startswith("file\tsegment\tline\treasons\t")
    assert [row.partition("left out: ")[2][:14] for row in rows[-2:]] == ["not read as a ", "line 1: not va"]
    assert (tmp_path / "out" / "a.md").read_text().startswith("# ")


def test_a_memory_is_reused_in_lines_and_documents(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    memory = tmp_path / "memory.tsv"
    memory.write_text("The old dog sees X-123.\tDas steht so im Speicher.\n", encoding="utf-8")
    ended = limelight("translate", "--model", trained, "The old dog sees X-123.", "--memory", memory, "--json")
    found = json.loads(ended.out)
    assert (found["text"], found["matches"][0]["origin"]) == ("Das steht so im Speicher.", f"{memory}:1")
    assert f"{memory}: its index is made" in ended.err
    (tmp_path / "a.md").write_text("# The old dog sees X-123.\n\nA dog.\n", encoding="utf-8")
    ended = limelight("translate", "--model", trained, tmp_path / "a.md", "-o", tmp_path / "b.md", "--memory", memory)
    assert ended.code == 0
    assert (tmp_path / "b.md").read_text(encoding="utf-8").startswith("# Das steht so im Speicher.\n")
