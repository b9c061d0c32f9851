"""Folders through a translator: every file is translated or named, and what is finished is left."""

import os
from pathlib import Path

import pytest

from limelight.documents import translate as module
from limelight.documents.folder import translate_folder
from limelight.errors import UserError
from tests.documents.test_translate import Capitals, work


@pytest.fixture
def given(tmp_path: Path) -> Path:
    """A folder of three documents, with text that stays as it is."""
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("".join(f"{number}. Line\n" for number in range(12)) + "LINUX\n")
    (folder / "b.md").write_text("# Use LINUX.\n\nLINUX\n")
    (folder / "deep" / "c.txt").write_text("One 5000 Two\nLINUX\n")
    return folder


def names_in(output: Path) -> list[str]:
    """The translated files."""
    return sorted(path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file())


def make_old(folder: Path) -> None:
    """Give all files in a folder a time that is before any test."""
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))


def test_a_folder_into_a_folder(tmp_path: Path) -> None:
    given, output = tmp_path / "in", tmp_path / "out"
    (given / "deep").mkdir(parents=True)
    (given / "a.txt").write_text("one two")
    (given / "deep" / "b.md").write_text("# three four")
    (given / "bad.json").write_text("{")
    (given / "c.bin").write_text("no document")
    make_old(given)
    first = Capitals()
    report = translate_folder(given, output, work(first))
    assert (report.files, [Path(each.file).name for each in report.failed]) == (2, ["c.bin", "bad.json"])
    assert (output / "deep" / "b.md").read_text() == "# THREE FOUR"
    assert names_in(output) == ["a.txt", "deep/b.md"]
    again = Capitals()
    report = translate_folder(given, output, work(again))
    assert (report.files, len(report.left), again.texts) == (0, 2, [])
    os.utime(given / "a.txt", (2e9, 2e9))
    translate_folder(given, output, work(again))
    assert again.texts == ["one two"]


def test_an_output_that_is_a_file_is_refused(given: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("kept")
    with pytest.raises(UserError, match="is a file"):
        translate_folder(given, tmp_path / "out", work(Capitals()))
    assert (tmp_path / "out").read_text() == "kept"


def test_every_other_file_is_named_with_its_reason(given: Path, tmp_path: Path) -> None:
    (given / "doc.pdf").write_bytes(b"%PDF-1.4")
    (given / "lines.tsv").write_text("a\tb\n")
    (given / "a.txt.gz").write_bytes(b"")
    (given / "x.docx").write_bytes(b"PK damaged")
    (given / "logo.png").write_bytes(b"")
    (given / "nothing").symlink_to(given / "none.txt")
    (given / "link").symlink_to(tmp_path)
    (given / ".git").mkdir()
    (given / ".git" / "config").write_text("")
    (given / ".hidden.txt").write_text("hidden")
    (given / "~$x.docx").write_bytes(b"owner")
    report = translate_folder(given, tmp_path / "out", work(Capitals()))
    assert report.files == 3
    reasons = {Path(each.file).name: each.reason for each in report.left_out}
    expected = {
        "doc.pdf": "not read as a document, but .txt",
        "lines.tsv": "not read as a document",
        "a.txt.gz": "not read as a document",
        "x.docx": "not a valid DOCX file: it is not a zip archive, or it is damaged",
        "logo.png": "no document",
        "nothing": "a broken link",
        "link": "a link to a folder, which is not followed",
    }
    assert set(reasons) == set(expected)
    assert all(reasons[name].startswith(reason) for name, reason in expected.items()), reasons
    assert {Path(each.file).name for each in report.left_out if not each.failed} == {"logo.png"}
    rows = [row.split("\t") for row in report.rows()]
    assert rows[0] == ["file", "segment", "line", "reasons", "confidence", "source", "translation"]
    assert {len(row) for row in rows} == {7}
    assert sum(row[3].startswith("left out: ") for row in rows) == 7
    assert sum("left out" in line for line in report.summary()) == 7


def test_after_an_interruption_the_same_call_translates_the_rest(
    given: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 3)
    make_old(given)
    translate_folder(given, tmp_path / "whole", work(Capitals()))
    for stop in range(7):
        output = tmp_path / f"out-{stop}"
        with pytest.raises(KeyboardInterrupt):
            translate_folder(given, output, work(Capitals(stop)))
        report = translate_folder(given, output, work(Capitals()))
        assert report.files + len(report.left) == 3
        names = names_in(output)
        assert names == ["a.txt", "b.md", "deep/c.txt"]
        assert all((output / name).read_bytes() == (tmp_path / "whole" / name).read_bytes() for name in names)
