"""Hostile files of each format: an error that names the file, and nothing half-written, in documents and in pairs."""

import gzip
import io
import lzma
import os
import zipfile
from pathlib import Path

import pytest

from limelight.documents.translate import Work, translate_document
from limelight.errors import UserError
from limelight.formats import read_pairs
from limelight.formats.registry import FORMATS
from limelight.formats.unit import Options
from limelight.text.pair import BadLine
from tests.documents.test_document import FILES, XML, docx
from tests.documents.test_other_readers import in_capitals
from tests.formats.files import CONTENTS, SENTENCES

PAIRS = [".tmx", ".xlf", ".xliff", ".ts", ".po", ".csv"]


def refused(folder: Path, name: str, data: bytes) -> str:
    """What is said of a document, of which nothing is written."""
    path = folder / name
    path.write_bytes(data)
    with pytest.raises(UserError) as raised:
        translate_document(path, folder / f"new-{name}", Work(in_capitals, Options("en", "de")))
    assert [each.name for each in folder.iterdir()] == [name]
    assert str(raised.value).startswith(str(path))
    return str(raised.value)


def pairs(folder: Path, name: str, data: bytes) -> tuple[int, str]:
    """How many pairs a file has, and what is said of the first thing that is wrong with it."""
    path = folder / name
    path.write_bytes(data)
    bad: list[BadLine] = []
    found = 0
    try:
        for _ in read_pairs([path], "en", "de", on_bad_line=bad.append):
            found += 1
    except UserError as error:
        return found, str(error)
    assert bad, "nothing is wrong with it"
    return found, str(bad[0])


def packed(part: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", part)
    return stream.getvalue()


@pytest.mark.parametrize("suffix", [*FORMATS, ".docx"])
def test_a_segment_without_an_end(suffix: str, tmp_path: Path) -> None:
    huge = "one two " * 20_000
    content = (
        docx({"word/document.xml": XML.replace("one two", huge)})
        if suffix == ".docx"
        else FILES[suffix].replace("one two", huge).encode()
    )
    assert "the maximum is 100,000" in refused(tmp_path, f"a{suffix}", content)


@pytest.mark.parametrize("suffix", [*FORMATS, ".docx"])
def test_a_file_of_100_megabytes_is_not_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    path.touch()
    os.truncate(path, 100_000_000)
    with pytest.raises(UserError, match="at most"):
        translate_document(path, tmp_path / f"new{suffix}", Work(in_capitals, Options("en", "de")))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", PAIRS)
@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".xz", lzma.compress)])
def test_an_archive_that_unpacks_without_an_end(suffix: str, ending: str, pack: object, tmp_path: Path) -> None:
    text = CONTENTS[suffix].replace(SENTENCES[0][0], "x" * 3_000_000)
    path = tmp_path / f"a{suffix}{ending}"
    found, said = pairs(tmp_path, path.name, pack(text.encode()))  # type: ignore[operator]
    assert path.stat().st_size < 10_000
    assert "1,000,000" in said
    assert found == 0


def test_a_zip_file_that_unpacks_without_an_end(tmp_path: Path) -> None:
    assert "bytes from" in refused(tmp_path, "a.docx", packed(XML.replace("one two", " " * 5_000_000).encode()))
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(10_001):
            archive.writestr(str(number), "")
    assert "at most 10,000" in refused(tmp_path, "a.docx", many.getvalue())


WRONG = {
    "other bytes": lambda text: text.replace("one two", "one tw\xf6").encode("latin-1"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "UTF-32": lambda text: text.encode("utf-32"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("suffix", [*FORMATS, ".docx"])
def test_wrong_encodings(suffix: str, wrong: str, tmp_path: Path) -> None:
    data = WRONG[wrong](XML if suffix == ".docx" else FILES[suffix])
    said = refused(tmp_path, f"a{suffix}", packed(data) if suffix == ".docx" else data)
    assert any(word in said for word in ("not valid UTF-8", "zero bytes", "not well-formed", "not valid", "encoding"))
