"""Files and folders through a translator: whole or not there, resumable, with a report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from limelight.documents import translate as module
from limelight.documents.report import Journal
from limelight.documents.translate import Work, translate_document
from limelight.errors import UserError
from limelight.formats.registry import Options
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


def test_the_same_words_with_other_codes_are_another_text(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<p>a <b>b</b> c</p><p>a <i>b</i> c</p><p>a <i class=x>b</i> c</p>")
    again = Capitals()
    translate_document(path, tmp_path / "b.html", work(again))
    assert len(again.texts) == 2
    assert (
        (tmp_path / "b.html").read_text().endswith("<p>A <b>B</b> C</p><p>A <i>B</i> C</p><p>A <i class=x>B</i> C</p>")
    )


def test_an_interruption_loses_no_more_than_a_chunk(lines: Path) -> None:
    output = lines.with_name("b.txt")
    with pytest.raises(KeyboardInterrupt):
        translate_document(lines, output, work(Capitals(2)))
    assert not output.exists()
    again = Capitals()
    translate_document(lines, output, work(again))
    assert len(again.texts) == 15
    assert output.read_text() == lines.read_text().upper()


@pytest.mark.parametrize("change", ["text", "settings", "cut"])
def test_what_was_kept_of_another_text_or_model_is_not_used(lines: Path, change: str) -> None:
    output = lines.with_name("b.txt")
    with pytest.raises(KeyboardInterrupt):
        translate_document(lines, output, work(Capitals(2)))
    kept = lines.with_name("b.txt.progress")
    again = Capitals()
    if change == "text":
        lines.write_text(lines.read_text() + "more text\n")
    if change == "cut":
        kept.write_text(kept.read_text()[:-5])
    translate_document(lines, output, work(again, settings="other" if change == "settings" else ""))
    assert len(again.texts) == {"text": 36, "settings": 35, "cut": 16}[change]
    assert output.read_text() == lines.read_text().upper()


def test_a_refused_file_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{")
    with pytest.raises(UserError, match=r"a\.json:1"):
        translate_document(path, tmp_path / "b.json", work(Capitals()))
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_outputs_that_are_refused(lines: Path) -> None:
    for output in (lines, lines.parent, lines.parent / "none" / "b.txt"):
        with pytest.raises(UserError):
            translate_document(lines, output, work(Capitals()))


def test_what_is_suspect_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("It costs 5000 dollars.\nSee the {name} there.\nAll is well.\nAll (of it) is there.\n")

    def translate(texts: Sequence[Text], source: str) -> list[Translation]:
        answers = {"It costs 5000 dollars.": "Es kostet.", "See the {name} there.": "Siehe da {name}"}
        answers["All (of it) is there."] = "Alles davon) ist da."
        return [answer(answers.get(each.text, "Gut."), each.text, ("{name}",) * ("{" in each.text)) for each in texts]

    report = translate_document(path, tmp_path / "b.txt", Work(translate, Options("en", "de")))
    assert [(each.line, each.reasons) for each in report.suspects] == [
        (1, ["lost number 5000", "lost unit $"]),
        (2, ["place not known: {name}"]),
        (4, ["bracket without its partner"]),
    ]
    assert "3 suspect" in next(report.summary())


def test_warnings_of_guards_are_reasons(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("Do not open it.\n")

    def translate(texts: Sequence[Text], source: str) -> list[Translation]:
        return [replace(answer("Mach das auf.", each.text), warnings=("negation", "loop")) for each in texts]

    report = translate_document(path, tmp_path / "b.txt", Work(translate, Options("en", "de")))
    assert [each.reasons for each in report.suspects] == [["negation"]]


def test_a_tag_behind_an_address_is_not_taken_for_a_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("see [http://a.org/x](http://a.org/x) now\n")

    class Closer(Capitals):
        def __call__(self, texts: Sequence[Text], source: str = "") -> list[Translation]:
            return [answer(each.text.replace(" now", "jetzt"), each.text) for each in texts]

    report = translate_document(path, tmp_path / "b.md", work(Closer()))
    assert (tmp_path / "b.md").read_text() == "see [http://a.org/x](http://a.org/x)jetzt\n"
    assert report.suspects == []


def test_a_journal_without_anything_in_it_goes(tmp_path: Path) -> None:
    with Journal(tmp_path / "x", "key"):
        assert (tmp_path / "x").exists()
    assert not (tmp_path / "x").exists()
