"""Word alignments beside the token stores of a run: made once, for the text that is there, in both directions."""

import random
from pathlib import Path

import pytest

from limelight.batching.store import TokenStore
from limelight.config import Corpus
from limelight.preparation import align
from limelight.preparation.align import align_stores
from limelight.preparation.word_alignment import split_words
from limelight.text.pair import Sides
from tests.batching.helpers import written
from tests.training.helpers import NUMBERS, ZAHLEN

EN_DE = Corpus(files=("a.tsv",), source="en", target="de")
EN_FR = Corpus(files=("b.tsv",), source="en", target="fr")
OF = dict(zip(NUMBERS, ZAHLEN, strict=True))


def stored(run: Path, number: int, pairs: list[Sides], fingerprint: str = "text") -> TokenStore:
    return written(run / "data" / f"train-{number}", [([3], [3], *pair) for pair in pairs], fingerprint)


def numbers(count: int) -> list[Sides]:
    """A word for each word, in the same order but for one pair of neighbors."""
    generator, found = random.Random(7), []
    for _ in range(count):
        source = generator.sample(NUMBERS, generator.randint(3, 6))
        target = [OF[word] for word in source]
        place = generator.randrange(len(target) - 1)
        target[place : place + 2] = target[place : place + 2][::-1]
        found.append(Sides(" ".join(source), " ".join(target)))
    return found


def test_sure_links_of_a_corpus_are_translations_in_both_directions(tmp_path: Path) -> None:
    pairs, said = numbers(400), list[str]()
    [store] = align_stores([EN_DE], [stored(tmp_path, 0, pairs)], tmp_path, said.append)
    right = wrong = 0
    for row, pair in enumerate(pairs):
        source, target = split_words(pair)
        turned = [(link.target, link.source) for link in store.reversed().of(row).links]
        assert sorted(turned) == [(link.source, link.target) for link in store.of(row).links]
        for link in store.of(row).links:
            fits = OF[source[link.source]] == target[link.target]
            right, wrong = right + (link.sure and fits), wrong + (link.sure and not fits)
    assert right > 10 * wrong
    assert right > 3 * len(pairs)
    assert [line.split(":")[0] for line in said] == ["train-0"]


def test_they_are_made_once_and_anew_for_other_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[int] = []
    learn = align.WordAligner
    monkeypatch.setattr(align, "WordAligner", lambda pairs: learned.append(len(pairs)) or learn(pairs))
    pairs = numbers(30)
    store = stored(tmp_path, 0, pairs)
    first = align_stores([EN_DE], [store], tmp_path, print)[0]
    again = align_stores([EN_DE], [store], tmp_path, print)[0]
    assert learned == [30]
    assert [again.of(row) for row in range(30)] == [first.of(row) for row in range(30)]
    other = stored(tmp_path, 0, pairs[:20], "other text")
    assert len(align_stores([EN_DE], [other], tmp_path, print)[0].links) == 20
    assert learned == [30, 20]


def test_corpora_of_one_direction_teach_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[int] = []
    learn = align.WordAligner
    monkeypatch.setattr(align, "WordAligner", lambda pairs: learned.append(len(pairs)) or learn(pairs))
    monkeypatch.setattr(align, "MAX_LEARNED", 60)
    pairs = numbers(120)
    stores = [stored(tmp_path, number, part) for number, part in enumerate((pairs[:5], pairs[5:], pairs[:7]))]
    found = align_stores([EN_DE, EN_DE, EN_FR], stores, tmp_path, print)
    assert [len(store.links) for store in found] == [5, 115, 7]
    assert learned == [60, 7]
    assert any(link.sure for row in range(5) for link in found[0].of(row).links)
