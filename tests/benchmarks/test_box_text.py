"""The text of the bundled model: parts that share no English text, and German beside French."""

import gzip
from pathlib import Path

import pytest

from benchmarks import box_text
from benchmarks.box_text import MAX_JOINED, PARTS, Register, corpora, pairs_of, path_of, prepare_text

BOTH = Register("tatoeba", ("de", "fr"), 1.0, has_dev=True)
ONE = Register("help", ("de", "fr"), 2.0)
FRENCH = Register("docs", ("fr",), 1.5)


def write(path: Path, rows: list[tuple[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{source}\t{target}\n" for source, target in rows)


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(box_text, "REGISTERS", (BOTH, ONE, FRENCH))
    for register in (BOTH, ONE, FRENCH):
        for partner in register.partners:
            for part in PARTS if register.has_dev else ("train", "test"):
                count = 600 if part == "train" else 10
                rows = [(f"{part} text {number}", f"{partner} {part} {number}") for number in range(count)]
                rows += [(f"{part} text 0", f"{partner} {part} again {number}") for number in range(4)]
                write(tmp_path / "data" / register.folder / f"en-{partner}.{part}.tsv.gz", rows)
    prepare_text(tmp_path / "data", tmp_path / "text")
    return tmp_path / "text"


def english(text: Path, register: Register, part: str) -> set[str]:
    return {pair.source for pair in pairs_of(text, register, part, ("en", register.partners[0]))}


@pytest.mark.parametrize("register", [BOTH, ONE, FRENCH])
def test_no_english_text_is_in_two_parts(text: Path, register: Register) -> None:
    train, dev, test = (english(text, register, part) for part in PARTS)
    assert train.isdisjoint(dev)
    assert test.isdisjoint(train | dev)
    assert len(train | dev) == 600 + (10 if register.has_dev else 0)
    assert len(dev) == 10 if register.has_dev else 0 < len(dev) < 30


def test_german_stands_beside_french_of_the_same_english_text(text: Path) -> None:
    pairs = pairs_of(text, ONE, "test", ("de", "fr"))
    for pair in pairs:
        one, other = pair.source.split()[-1], pair.target.split()[-1]
        assert one == other or "0" in (one, other) or "again" in pair.source + pair.target
    assert len(pairs) == 9 + MAX_JOINED
    back = pairs_of(text, ONE, "test", ("fr", "de"))
    assert [(pair.target, pair.source) for pair in back] == [(pair.source, pair.target) for pair in pairs]


def test_every_file_is_a_corpus_with_its_weight(text: Path) -> None:
    found = {(corpus.files[0], corpus.source, corpus.target): corpus.weight for corpus in corpora(text, "train")}
    assert found[str(path_of(text, ONE, ("en", "de"), "train")), "en", "de"] == 2.0
    assert found[str(path_of(text, ONE, ("de", "fr"), "train")), "de", "fr"] == 1.4
    assert len(found) == 3 + 3 + 1
