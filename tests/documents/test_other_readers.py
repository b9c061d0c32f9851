"""Translated files, opened by other programs: gettext, LibreOffice, python-docx, parsers of the formats.

The translation is in capitals. Programs that are not there are skipped; `apt-get install gettext
libreoffice-writer-nogui` brings them.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import docx
import pytest

from limelight.documents.translate import Work, translate_document
from limelight.formats.unit import Options
from limelight.pipelines.job import Text
from limelight.pipelines.translation import Translation
from limelight.text.protectors import DEFAULT, find_spans

HEADER = (
    'msgid ""\nmsgstr ""\n"Language: \\n"\n"Content-Type: text/plain; charset={charset}\\n"\n"Plural-Forms: '
    '{forms}\\n"\n\n'
)
ENTRIES = (
    '#, c-format\nmsgid "close %d of %s\\n"\nmsgstr ""\n\n'
    '#, python-format\nmsgctxt "c"\nmsgid "%(n)s is \\"here\\""\nmsgstr ""\n\n'
    '#, c-format\nmsgid "one dog of %s"\nmsgid_plural "%d dogs of %s"\nmsgstr[0] ""\nmsgstr[1] ""\n'
).replace("one dog of %s", "%d dog of %s")


def in_capitals(texts: Sequence[Text], source: str = "") -> list[Translation]:
    """Capitals, but for what is protected."""
    return [Translation(_capitals(each.text), 0.0, (), 0.0, each.text, finished=True) for each in texts]


def _capitals(text: str) -> str:
    parts, place = list[str](), 0
    for span in find_spans(text, DEFAULT):
        parts += [text[place : span.begin].upper(), text[span.begin : span.end]]
        place = span.end
    return "".join([*parts, text[place:].upper()])


def translated(folder: Path, name: str, content: str, target: str = "de") -> Path:
    path, output = folder / name, folder / f"new-{name}"
    path.write_text(content, encoding="utf-8")
    translate_document(path, output, Work(in_capitals, Options("en", target)))
    assert path.read_text(encoding="utf-8") != output.read_text(encoding="utf-8")
    return output


def run(program: str, *arguments: str | Path) -> str:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    ended = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("target", "forms"),
    [
        ("de", "nplurals=2; plural=(n != 1);"),
        ("pl", "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"),
        ("pl", "nplurals=INTEGER; plural=EXPRESSION;"),
        ("ja", "nplurals=INTEGER; plural=EXPRESSION;"),
        ("ar", "nplurals=INTEGER; plural=EXPRESSION;"),
    ],
)
def test_gettext_takes_a_catalog(target: str, forms: str, tmp_path: Path) -> None:
    charset = "CHARSET" if "INTEGER" in forms else "UTF-8"
    new = translated(tmp_path, "a.po", HEADER.format(forms=forms, charset=charset) + ENTRIES, target)
    said = run(
        "msgfmt", "--check-format", "--check-header", "--use-fuzzy", "--statistics", "-o", tmp_path / "a.mo", new
    )
    assert said.endswith("0 translated messages, 3 fuzzy translations.\n") or "3 translated messages" in said


def word_file(path: Path) -> Path:
    document = docx.Document()
    document.add_heading("how to use it", 0)
    paragraph = document.add_paragraph("please ")
    paragraph.add_run("turn off").bold = True
    paragraph.add_run(" the lamp").italic = True
    document.add_table(1, 1).cell(0, 0).text = "in a cell"
    document.sections[0].header.paragraphs[0].text = "the header"
    document.save(str(path))
    return path


def test_python_docx_and_libreoffice_read_a_document(tmp_path: Path) -> None:
    new = tmp_path / "new.docx"
    translate_document(word_file(tmp_path / "a.docx"), new, Work(in_capitals, Options("en", "de")))
    read = docx.Document(str(new))
    assert [each.text for each in read.paragraphs] == ["HOW TO USE IT", "PLEASE TURN OFF THE LAMP"]
    runs = [(each.text, bool(each.bold), bool(each.italic)) for each in read.paragraphs[1].runs]
    assert runs == [("PLEASE ", False, False), ("TURN OFF", True, False), (" THE LAMP", False, True)]
    assert read.tables[0].cell(0, 0).text == "IN A CELL"
    assert read.sections[0].header.paragraphs[0].text == "THE HEADER"
    assert read.paragraphs[0].style.name == "Title"
