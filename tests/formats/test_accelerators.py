"""Accelerators of menus."""

import pytest

from limelight.formats.accelerators import with_accelerator, without_accelerator
from tests.formats.helpers import texts, units_of


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("&File", ("File", "F")),
        ("E&xit", ("Exit", "x")),
        ("Save &as...", ("Save as...", "a")),
        ("R&D", ("R&D", "")),
        ("Black&White", ("Black&White", "")),
        ("&amp; x", ("&amp; x", "")),
        ("a?b=c&d=e", ("a?b=c&d=e", "")),
        ("&One and &two", ("&One and &two", "")),
    ],
)
def test_what_an_accelerator_is(text: str, found: tuple[str, str]) -> None:
    assert without_accelerator(text) == found


@pytest.mark.parametrize(
    ("text", "letter", "written"),
    [
        ("Datei", "F", "&Datei"),
        ("Beenden", "e", "B&eenden"),
        ("Speichern als", "a", "Speichern &als"),
        ("{a} öffnen", "a", "{a} &öffnen"),
        ("Datei", "", "Datei"),
        ("5", "x", "5"),
        ("文件", "F", "文件(&F)"),
        ("打开 {name}", "o", "打开 {name}(&O)"),
        ("เปิดไฟล์", "o", "เปิดไฟล์(&O)"),
        ("파일", "f", "파일(&F)"),
        ("另存为...", "a", "另存为(&A)..."),
    ],
)
def test_where_it_is_put(text: str, letter: str, written: str) -> None:
    assert with_accelerator(text, letter) == written


def test_a_catalog_keeps_its_accelerators() -> None:
    text = 'msgid "&Open the file"\nmsgstr ""\n'
    assert texts(text, ".po") == ["Open the file"]
    (unit,) = units_of(text, ".po")
    assert any('msgstr "Datei &offen"' in each.text for each in unit.write("Datei offen"))
    (unit,) = units_of(text.replace("file", "file\\tCtrl+O"), ".po")
    assert any('msgstr "&Zu Datei\\tCtrl+O"' in each.text for each in unit.write(f"Zu Datei{unit.text[-1]}"))
