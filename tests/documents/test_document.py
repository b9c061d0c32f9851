"""Files as units and as bytes again; files that are refused."""

import io
import zipfile
from pathlib import Path

import pytest

from limelight.documents.document import open_document, read_document
from limelight.errors import UserError
from limelight.formats.registry import BILINGUAL, FORMATS
from limelight.formats.unit import Options
from tests.formats.helpers import upper

GIVEN = Options("en", "de")
FILES = {
    ".txt": "one two\n",
    ".srt": "1\n00:00:01,000 --> 00:00:02,000\none two\n",
    ".vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\none two\n",
    ".po": 'msgid ""\nmsgstr ""\n\nmsgid "one two"\nmsgstr ""\n',
    ".pot": 'msgid ""\nmsgstr ""\n\nmsgid "one two"\nmsgstr ""\n',
    ".json": '{"a":   "one two"}',
    ".arb": '{"a":   "one two"}',
    ".md": "# one two\n",
    ".markdown": "# one two\n",
    ".html": "<P CLASS=x>one two",
    ".htm": "<P CLASS=x>one two",
    ".xhtml": "<p class='x'>one two</p>",
    ".yaml": "a:   one two\n",
    ".yml": "a:   one two\n",
    ".xlf": "<xliff version='1.2'><file><body><trans-unit id='1'><source>one two</source></trans-unit></body></file>"
    "</xliff>",
    ".xliff": "<xliff version='2.0'><file><unit><segment><source>one two</source></segment></unit></file></xliff>",
}  # fmt: skip
FILES |= dict.fromkeys((".sdlxliff", ".mqxliff"), FILES[".xlf"])
XML = '<w:document xmlns:w="x"><w:p><w:r><w:t>one two</w:t></w:r></w:p></w:document>'


def docx(members: dict[str, str] | None = None) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = b"mine"
        for name, content in {"[Content_Types].xml": "<a/>", "word/document.xml": XML, "media/a.png": "\0\1",
                              **(members or {})}.items():  # fmt: skip
            archive.writestr(zipfile.ZipInfo(name, (1999, 1, 2, 3, 4, 6)), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_no_edit_is_no_change_and_an_edit_changes_its_text_alone(suffix: str, newline: str) -> None:
    data = FILES[suffix].replace("\n", newline).encode()
    read = read_document(data, f"a{suffix}", GIVEN)
    assert [unit.text for unit in read.units] == ["one two"]
    assert read.written([None]) is read.data
    assert read.written(["one two"]) == data
    new = read.written(["EINS ZWEI"])
    assert b"EINS ZWEI" in new
    if suffix not in BILINGUAL:
        assert new == data.replace(b"one two", b"EINS ZWEI")


def test_other_members_of_a_docx_file_stay() -> None:
    data = docx({"word/header1.xml": XML, "word/styles.xml": XML})
    read = read_document(data, "a.docx", GIVEN)
    assert len(read.units) == 2
    assert read.written([None, None]) == data
    new = read.written([upper(unit.text) for unit in read.units])
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(io.BytesIO(new)) as after:
        assert before.namelist() == after.namelist()
        assert after.comment == b"mine"
        for name in before.namelist():
            same = before.read(name) == after.read(name)
            assert same == (name not in ("word/document.xml", "word/header1.xml"))
            assert before.getinfo(name).date_time == after.getinfo(name).date_time
        assert b">ONE TWO<" in after.read("word/document.xml")


def wrong_size() -> bytes:
    """Its list says that the text is shorter than it is."""
    data = docx()
    place = data.rindex(b"PK\x01\x02", 0, data.rindex(b"word/document.xml"))
    return data[: place + 24] + b"\x09\0\0\0" + data[place + 28 :]


def damaged_picture() -> bytes:
    """Which is copied when the file is written."""
    data = bytearray(docx({"media/a.png": "picture" * 100}))
    data[data.index(b"media/a.png") + 20] ^= 255
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.docx", b"no zip", "not a valid DOCX file"),
        ("a.docx", docx()[:-40], "not a valid DOCX file"),
        ("a.docx", damaged_picture(), "damaged"),
        ("a.docx", docx().replace(b"word/document", b"word/dokument"), "it has no word/document"),
        ("a.docx", wrong_size(), "not well-formed|another size|damaged"),
        ("a.po", b"nonsense", "a.po:1: not a line"),
        ("a.json", b"[" * 100_000, "levels"),
        ("a.yaml", b"a: &a [*a", "YAML"),
    ],
)
def test_hostile_files_are_refused(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        read_document(data, name, GIVEN)


def test_files_that_are_no_documents(tmp_path: Path) -> None:
    for name, reason in (("a.pdf", "documents are"), ("none.txt", "cannot be read")):
        with pytest.raises(UserError, match=reason):
            open_document(tmp_path / name, GIVEN)
