"""Written pairs are read again as they were."""

from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats import read_pairs
from limelight.text.pair import PairLines

PAIRS = [('a <b> & "c" ]]>', "ä\u00a0€ 𝄞"), (" 1 < 2", "x"), ("tab\there", "two\nlines\u2028and")]


@pytest.mark.parametrize("suffix", [".tsv", ".jsonl", ".tmx"])
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"pairs{suffix}"
    lines = PairLines(path, "en", "de")
    written = lines.whole(lines.pair(*each, {"confidence": 0.5}) for each in PAIRS)
    path.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")
    found = [(pair.source, pair.target) for pair in read_pairs([path], "en", "de")]
    assert [tuple(" ".join(side.split()) for side in pair) for pair in found] == [
        tuple(" ".join(side.split()) for side in pair) for pair in PAIRS
    ]


def test_characters_that_xml_cannot_have_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tmx"
    lines = PairLines(path, "en", "de")
    path.write_text("\n".join(lines.whole([lines.pair("a\x01b\ud800", "c")])), encoding="utf-8")
    assert next(read_pairs([path], "en", "de")).source == "a\ufffdb\ufffd"


def test_a_memory_needs_languages(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="names its languages"):
        PairLines(tmp_path / "pairs.tmx", "", "de")
