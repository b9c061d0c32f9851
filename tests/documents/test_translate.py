"""Files and folders through a translator: whole or not there, resumable, with a report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from limelight.documents import translate as module
from limelight.documents.translate import Work, translate_document
from limelight.errors import UserError
from limelight.formats.unit import Options
from limelight.pipelines.job import Text
from limelight.pipelines.translation import Translation
from tests.formats.helpers import upper


def answer(text: str, source: str, failed: tuple[str, ...] = ()) -> Translation:
    return Translation(text, 0.0, (), 0.0, source, finished=True, failed=failed)


class Capitals:
    """Translates into capitals; stops after so many calls."""

    def __init__(self, stop: int = 1000) -> None:
        self.calls, self.stop, self.texts = 0, stop, list[str]()

    def __call__(self, texts: Sequence[Text], source: str = "") -> list[Translation]:
        self.calls += 1
        if self.calls > self.stop:
            raise KeyboardInterrupt
        self.texts += [each.text for each in texts]
        return [answer(upper(each.text), each.text) for each in texts]


def work(translate: Capitals, settings: str = "") -> Work:
    return Work(translate, Options("en", "de"), {"model": settings})


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "CHUNK", 10)
    path = tmp_path / "a.txt"
    path.write_text("".join(f"{number}. Line\n" for number in range(35)))
    return path


def test_a_file_into_a_file(lines: Path) -> None:
    output = lines.with_name("b.txt")
    told = []
    report = translate_document(lines, output, work(Capitals())._replace(progress=lambda *given: told.append(given)))
    assert output.read_text() == lines.read_text().upper()
    assert (report.files, report.units, report.suspects) == (1, 35, [])
    assert told[-1] == (str(lines), 35, 35)
    assert {path.name for path in lines.parent.iterdir()} == {"a.txt", "b.txt"}


def test_the_input_under_another_name_is_refused(lines: Path) -> None:
    other = lines.with_name("other.txt")
    other.hardlink_to(lines)
    with pytest.raises(UserError, match="is the input"):
        translate_document(lines, other, work(Capitals()))


def test_what_is_said_several_times_is_translated_once(lines: Path) -> None:
    lines.write_text("Same.\n" * 35 + "Other.\nSame.\n")
    again = Capitals()
    report = translate_document(lines, lines.with_name("b.txt"), work(again))
    assert (again.texts, report.units) == (["Same.", "Other."], 37)
    assert lines.with_name("b.txt").read_text() == lines.read_text().upper()
    lines.write_text("Same.\n" * 10 + "Other.\nSame.\n")
    with pytest.raises(KeyboardInterrupt):
        translate_document(lines, lines.with_name("c.txt"), work(Capitals(stop=1)))
    again = Capitals()
    translate_document(lines, lines.with_name("c.txt"), work(again))
    assert again.texts == ["Other."]  # the other one is kept


def test_an_interruption_loses_no_more_than_a_chunk(lines: Path) -> None:
    output = lines.with_name("b.txt")
    with pytest.raises(KeyboardInterrupt):
        translate_document(lines, output, work(Capitals(2)))
    assert not output.exists()
    again = Capitals()
    translate_document(lines, output, work(again))
    assert len(again.texts) == 15
    assert output.read_text() == lines.read_text().upper()


@pytest.mark.parametrize("change", ["text", "settings"])
def test_what_was_kept_of_another_text_or_model_is_not_used(lines: Path, change: str) -> None:
    output = lines.with_name("b.txt")
    with pytest.raises(KeyboardInterrupt):
        translate_document(lines, output, work(Capitals(2)))
    again = Capitals()
    if change == "text":
        lines.write_text(lines.read_text() + "more text\n")
    translate_document(lines, output, work(again, settings="other" if change == "settings" else ""))
    assert len(again.texts) == {"text": 36, "settings": 35}[change]
    assert output.read_text() == lines.read_text().upper()


def test_what_is_suspect_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("It costs 5000 dollars.\nSee the {name} there.\nAll is well.\nHere.\n")
    answers = {
        "It costs 5000 dollars.": replace(answer("Es kostet.", ""), warnings=("number lost", "span misplaced")),
        "See the {name} there.": answer("Siehe da {name}", "", ("{name}",)),
        "Here.": answer("", ""),
    }

    def translate(texts: Sequence[Text], source: str) -> list[Translation]:
        return [answers.get(each.text, answer("Gut.", each.text)) for each in texts]

    report = translate_document(path, tmp_path / "b.txt", Work(translate, Options("en", "de")))
    assert [(each.line, each.reasons) for each in report.suspects] == [
        (1, ["number lost"]),
        (2, ["place not known: {name}"]),
        (4, ["empty"]),
    ]
    assert "3 suspect" in next(report.summary())
