"""The corpus of the phrase grammar: its example, its pairs by their hash, files without repetitions."""

import hashlib
import itertools
import subprocess
import sys
from pathlib import Path

from examples import phrase_grammar
from examples.phrase_grammar import ANIMATE, DETERMINERS, PLACES, TRANSITIVE, Clause, Phrase, pairs, write_corpus

GOLDEN = "e879340e121a9660e06b0a2be74cae7d8ee13337c4e61db1a786290915e44bcc"
"""SHA-256 of the first 2,000 pairs of seed 1. Parsers of both languages have found the same meaning in each pair."""


def lines_of(pairs_of: itertools.islice) -> str:
    return "".join(f"{english}\t{lumi}\n" for english, lumi in pairs_of)


def test_the_pairs_are_those_that_were_checked() -> None:
    assert hashlib.sha256(lines_of(itertools.islice(pairs(1), 2000)).encode()).hexdigest() == GOLDEN
    assert lines_of(itertools.islice(pairs(2), 9)) != lines_of(itertools.islice(pairs(1), 9))


def test_the_example_of_the_docstring_holds() -> None:
    the, a = DETERMINERS[:2]
    dog, cats = Phrase(the, ("old",), ANIMATE[0], plural=False), Phrase(the, ("small",), ANIMATE[1], plural=True)
    house = Phrase(a, (), PLACES[0], plural=False)
    clause = Clause(dog, TRANSITIVE[0], "present", negated=True, object=cats, place=("near", house), time="today")
    shown = (phrase_grammar.__doc__ or "").lower()
    assert f"    {clause.english()}.\n    {clause.lumi()}.\n" in shown


def test_the_parts_of_a_corpus_share_no_sentence(tmp_path: Path, seed: int) -> None:
    write_corpus(tmp_path, 701, seed, held_out=211)
    parts = {
        name: (tmp_path / f"{name}.tsv").read_text(encoding="utf-8").splitlines() for name in ("train", "valid", "test")
    }
    assert {name: len(lines) for name, lines in parts.items()} == {"train": 701, "valid": 211, "test": 211}
    sources = [line.split("\t")[0] for lines in parts.values() for line in lines]
    assert len(set(sources)) == 701 + 211 + 211


def test_the_command_writes_the_three_files(tmp_path: Path) -> None:
    command = [sys.executable, phrase_grammar.__file__, "--pairs", "17", "--seed", "5", "--out", tmp_path / "a" / "b"]
    subprocess.run(command, check=True)
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == ["test.tsv", "train.tsv", "valid.tsv"]
    expected = lines_of(itertools.islice(pairs(5), 17))
    assert (tmp_path / "a" / "b" / "train.tsv").read_text(encoding="utf-8") == expected
