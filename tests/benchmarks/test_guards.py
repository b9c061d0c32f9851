"""What the benchmark of guards counts."""

import gzip
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.guards import Change, Corpus, _corpora, _of_references, _Recorded, by_guard, without_negation
from limelight.config import Direction
from limelight.decoding.request import SearchSettings
from limelight.pipelines import guards
from tests.pipelines.test_guards import LOOP, translated


def change(gain: float, *faults: str) -> Change:
    return Change("a corpus", faults, "a", "b", "c", "d", gain)


def test_a_change_counts_for_each_guard_that_found_a_fault() -> None:
    changes = [change(3.0, "loop"), change(-1.0, "loop", "number lost"), change(0.4, "loop")]
    rows = {row["guard"]: list(row.values())[1:] for row in by_guard(Counter({"loop": 4, "number lost": 1}), changes)}
    assert rows["loop"] == [4, 3, 1, 1, 0.8]
    assert rows["number lost"] == [1, 1, 0, 1, -1.0]
    assert rows["copied"] == [0, 0, 0, 0, 0.0]
    assert rows["all"][1:4] == [3, 1, 1]


def test_the_faults_of_the_first_translation_are_recorded() -> None:
    def say(_: str, settings: SearchSettings) -> Sequence[str]:
        return ["der Hund und so weiter"] if settings.rules else [LOOP]

    before = guards.checked
    with _Recorded() as faults:
        assert translated("the dog and so on", say)[0].warnings == ()
        translated("the dog", lambda *_: ["der Hund"])
    assert dict(faults) == {len("the dog and so on") - 1: ("loop", "too long")}
    assert guards.checked is before


@pytest.mark.parametrize(
    ("language", "text", "shorter"),
    [
        ("en", "I do not know.", "I do  know."),
        ("fr", "Je ne sais pas.", "Je sais ."),
        ("de", "Nicht heute, nicht morgen.", ""),
        ("en", "I know.", ""),
    ],
)
def test_a_negation_is_removed(language: str, text: str, shorter: str) -> None:
    assert without_negation(text, language) == shorter


@pytest.mark.parametrize(
    ("language", "text", "shorter"),
    [
        ("en", "I do not know and do not ask.", "I do not know and do  ask."),
        ("fr", "Je ne sais pas et ne demande pas.", "Je ne sais pas et demande ."),
        ("de", "Ich weiß nicht.", ""),
        ("fr", "Je ne sais rien, rien du tout.", ""),
    ],
)
def test_the_last_of_several_negations_is_removed(language: str, text: str, shorter: str) -> None:
    assert without_negation(text, language, several=True) == shorter


def test_faults_of_references_are_counted() -> None:
    pairs = [("3 dogs", "4 Hunde"), ("H2O", "h2o"), ("5 dogs and H2O", "H2O und 5 Hunde"), ("3 cats", "4 Katzen")]
    row = _of_references(Corpus("a corpus", Direction("en", "de"), pairs))
    assert row.pop("CPU microseconds a pair") > 0
    assert {name: count for name, count in row.items() if count} == {
        "corpus": "a corpus", "direction": "en-de", "pairs": 4, "number lost": 2, "spelling changed": 1,
    }  # fmt: skip


def test_pairs_have_the_sides_of_their_direction(tmp_path: Path) -> None:
    (tmp_path / "tatoeba").mkdir()
    (tmp_path / "multi30k").mkdir()
    (tmp_path / "tatoeba" / "en-de.dev.tsv.gz").write_bytes(gzip.compress(b"a dog\tein Hund\n"))
    for side, text in (("de", b"ein Hund\n"), ("en", b"a dog\n")):
        (tmp_path / "multi30k" / f"val.{side}.gz").write_bytes(gzip.compress(text))
    for direction, pair in (
        (Direction("en", "de"), ("a dog", "ein Hund")),
        (Direction("de", "en"), ("ein Hund", "a dog")),
    ):
        found = [each for each in _corpora(tmp_path, [direction], dev=True) if each.pairs]
        assert {each.name for each in found} == {"tatoeba", "multi30k val"}
        assert [each.pairs for each in found] == [[pair]] * 2
