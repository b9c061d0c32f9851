"""Files that are no text are named as what they are, by their names and by their bytes."""

from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats import read_lines, read_pairs
from limelight.formats.opening import _BY_SUFFIX, BOTH_SIDES, open_text, refuse_to_translate

TMX = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4">\n'
CONTENTS = {
    "a ZIP archive or an Office file": b"PK\x03\x04" + bytes(50),
    "an old Office file": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500),
    "a PDF document": b"%PDF-1.7\n",
    "a text document": b"{\\rtf1\\ansi A dog.}",
    "a translation memory (TMX)": TMX.encode(),
    "a translation file (XLIFF)": b'\xef\xbb\xbf<?xml version="1.0"?>\n<xliff version="1.2">',
    "a Qt translation file (TS)": b'<!DOCTYPE TS>\n<TS version="2.1" language="de_DE">',
}


@pytest.mark.parametrize("kind", CONTENTS)
def test_bytes_tell_what_a_file_is_whatever_its_name(kind: str, tmp_path: Path) -> None:
    for name in ("text.txt", "text.tsv"):
        path = tmp_path / name
        path.write_bytes(CONTENTS[kind])
        with pytest.raises(UserError) as told:
            open_text(path)
        assert str(told.value).startswith(f"{path}: is {kind}, which is not read as text; ")
        with pytest.raises(UserError):
            list(read_lines(path))


@pytest.mark.parametrize("suffix", _BY_SUFFIX)
def test_a_name_is_told_at_once(suffix: str, tmp_path: Path) -> None:
    for name in (f"memory{suffix}", f"memory{suffix.upper()}", f"memory{suffix}.gz"):
        path = tmp_path / name
        path.write_bytes(b"")
        kind = _BY_SUFFIX[suffix]
        for read in (read_lines, lambda file: read_pairs([file, file])):
            if suffix in BOTH_SIDES and read is not read_lines:
                continue
            with pytest.raises(UserError) as told:
                read(path)
            assert str(told.value).startswith(f"{path}: is {kind}, which is not read as text; ")


@pytest.mark.parametrize("line", ["<html> tags stand in text", "PKs and %PDF- are words", "A <tmx> begins so."])
def test_text_that_speaks_of_such_files_is_text(line: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text(f"{line}\n", encoding="utf-8")
    assert list(read_lines(tmp_path / "text.txt")) == [line]


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        (
            "a.csv",
            "is a CSV table, which is not translated as it is; save it as a Word document (.docx), or its text, or",
        ),
        ("a.pdf", "is a PDF document, which is not translated as it is; save it as a Word document (.docx)"),
    ],
)
def test_who_wants_to_translate_is_told_how(name: str, remedy: str) -> None:
    with pytest.raises(UserError) as told:
        refuse_to_translate(Path(name))
    assert remedy in str(told.value)
    assert "train" not in str(told.value)
