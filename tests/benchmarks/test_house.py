"""`benchmarks/house.py`: what is counted, and the table on the page."""

from pathlib import Path

from benchmarks import house


def test_lines_files_and_packages_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    for name, text in (("a/__init__.py", ""), ("a/b/__init__.py", '"""A\n\nb."""\nx = 1\n'), ("c.py", "\n\ny = 2")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert house.counts(tmp_path) == [
        ("source lines", 7), ("blank lines and docstrings among them", 5), ("files", 3), ("packages", 1),
    ]  # fmt: skip


def test_a_file_is_crossed_when_one_of_its_functions_runs() -> None:
    from limelight.text.sentences import split_sentences

    assert "text/sentences.py" in house.crossed(lambda: split_sentences("One. Two.", "en"))
    assert house.crossed(lambda: len("One.")) == set()


def test_the_table_is_put_between_the_marks() -> None:
    text = f"before\n{house.MARKS[0]}old\n{house.MARKS[1]}\nafter"
    assert house.replaced(text, "new") == f"before\n{house.MARKS[0]}new\n{house.MARKS[1]}\nafter"
    assert house.MARKS[0] in house.PAGE.read_text(encoding="utf-8")
