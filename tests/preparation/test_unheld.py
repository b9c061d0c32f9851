"""The characters of a training text that a vocabulary does not hold are counted, with their first place."""

from pathlib import Path

from limelight.preparation.unheld import NAMED, Characters
from limelight.text.marking import placeholder
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers, train_tokenizer


def vocabulary(text: str, *, byte_fallback: bool = True) -> Tokenizers:
    learned = train_tokenizer(
        [text] * 30, kind="bpe", vocabulary_size=None, languages=(), byte_fallback=byte_fallback, seed=1, sentences=9
    )
    return Tokenizers(learned, learned)


def counted(*pairs: tuple[str, str]) -> Characters:
    found = Characters()
    for line, (source, target) in enumerate(pairs, start=3):
        found.count(Pair(source, target, "a.tsv", line))
    return found


def test_each_is_counted_on_both_sides_with_the_first_line() -> None:
    found = counted(("a b", "a ☃ b"), ("☃ 東", "ab"), (f"a\u00a0{placeholder(1)}", "b e\u0301"))
    rows = list(found.missing(vocabulary("a b é")))
    assert rows == [("☃", 2, rows[0][2]), ("東", 1, "a.tsv:4")]
    assert rows[0][2] in ("a.tsv:3", "a.tsv:4")


def test_the_report_names_the_most_frequent_and_the_file_has_all(tmp_path: Path) -> None:
    signs = [chr(0x2600 + number) for number in range(NAMED + 2)]
    found = counted(*[(sign * (2 + number), "a") for number, sign in enumerate(signs)], ("\x07", "b"))
    file = tmp_path / "data" / "c.tsv"
    said = found.report(vocabulary("a b"), file, byte_fallback=True)
    assert "13 characters of the text, 91 times in all" in said
    assert "spelled in bytes; the 10 most frequent, with count and first line: ☋ (13; a.tsv:14)" in said
    assert "☀" not in said
    assert len(file.read_text("utf-8").splitlines()) == 13
    assert "U+0007\t" in file.read_text("utf-8")


def test_without_such_characters_nothing_is_said(tmp_path: Path) -> None:
    file = tmp_path / "c.tsv"
    assert counted(("a", "b")).report(vocabulary("a b", byte_fallback=False), file, byte_fallback=False) == ""
    assert not file.exists()
