"""Word documents that python-docx made, translated, and opened by python-docx."""

from pathlib import Path

import docx
from docx.document import Document

from limelight.documents.document import open_document
from limelight.formats.unit import Options
from limelight.text.marking import CODES
from tests.formats.helpers import upper


def made(path: Path) -> None:
    document = docx.Document()
    document.add_heading("The old house", 1)
    paragraph = document.add_paragraph("The dog ")
    paragraph.add_run("runs").bold = True
    paragraph.add_run(" home & ")
    paragraph.add_run("sleeps").italic = True
    paragraph.add_run(".")
    document.add_paragraph("An item", style="List Bullet")
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "one cell", "another\tcell\nof two lines"
    document.sections[0].header.paragraphs[0].text = "My book"
    document.save(str(path))


def texts(document: Document) -> list[str]:
    cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
    return [*(each.text for each in document.paragraphs), *cells, document.sections[0].header.paragraphs[0].text]


def test_what_python_docx_makes_it_reads_again(tmp_path: Path) -> None:
    made(tmp_path / "a.docx")
    read = open_document(tmp_path / "a.docx", Options("en", "de"))
    assert "The dog |runs| home & |sleeps|." in [CODES.sub("|", unit.text) for unit in read.units]
    assert read.written([unit.text for unit in read.units]) == (tmp_path / "a.docx").read_bytes()
    (tmp_path / "b.docx").write_bytes(read.written([upper(unit.text) for unit in read.units]))
    before, after = (docx.Document(str(tmp_path / name)) for name in ("a.docx", "b.docx"))
    assert texts(after) == [text.upper() for text in texts(before)]
    runs = [(run.text, run.bold, run.italic) for run in after.paragraphs[1].runs]
    assert runs == [
        ("THE DOG ", None, None), ("RUNS", True, None), (" HOME & ", None, None), ("SLEEPS", None, True),
        (".", None, None),
    ]  # fmt: skip
    assert [each.style.name for each in after.paragraphs] == [each.style.name for each in before.paragraphs]
