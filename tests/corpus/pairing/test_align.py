"""Sentences of two documents become beads: against all alignments of small documents, and in made documents."""

from random import Random

import numpy as np
import pytest

from limelight.corpus.pairing import align as aligning
from limelight.corpus.pairing import path
from limelight.corpus.pairing.align import Document, Sentence, align
from limelight.corpus.pairing.path import Bead

WORDS = {name: f"{name[::-1]}o" for name in ("tolar", "miken", "savor", "pelin", "ruden", "gamos", "fitel", "nubar")}
"""A made language: each word has one translation that is spelled otherwise."""


def sentence(random: Random, vocabulary: list[str]) -> str:
    return " ".join(random.choice(vocabulary) for _ in range(random.randrange(4, 9))) + "."


def translated(text: str) -> str:
    return " ".join(word[::-1] + "o" for word in text.rstrip(".").split()) + "."


def lines(texts: list[str]) -> list[Sentence]:
    return [Sentence(text, number) for number, text in enumerate(texts, start=1)]


def vocabulary(count: int) -> list[str]:
    random = Random(3)
    return [
        "".join(random.choice("bdfgklmnprstvz" if place % 2 else "aeiou") for place in range(6)) for _ in range(count)
    ]


def kinds(found: list[Bead]) -> list[tuple[int, int, tuple[int, int]]]:
    return [(each.source, each.target, each.kind) for each in found]


def test_the_path_is_the_best_of_all_paths() -> None:
    draw = np.random.default_rng(5)
    sources, targets = 5, 4
    texts = [
        path.Text(draw.integers(5, 60, size).astype(float), draw.uniform(2, 20, size)) for size in (sources, targets)
    ]
    shares = draw.uniform(0, 1, (2, sources, targets)) ** 3
    ratio = texts[1].lengths.sum() / texts[0].lengths.sum()
    common = shares[0] * texts[1].totals, shares[1] * texts[0].totals[:, None]
    section = path.Section(*texts, *(each.astype(np.float32) for each in common), 0.2, ratio)

    def score(i: int, j: int, kind: tuple[int, int]) -> float:
        gain = path._gains(section, i + kind[0], kind)[0][j] if all(kind) else 0.0
        return path.PRIORS[path.KINDS.index(kind)] + gain

    def best(i: int, j: int) -> float:
        if (i, j) == (sources, targets):
            return 0.0
        return max(
            score(i, j, kind) + best(i + kind[0], j + kind[1])
            for kind in path.KINDS
            if i + kind[0] <= sources and j + kind[1] <= targets
        )

    beads = path.best_path(section)
    assert sum(each.kind[0] for each in beads) == sources
    assert sum(each.kind[1] for each in beads) == targets
    assert sum(score(each.source, each.target, each.kind) for each in beads) == pytest.approx(best(0, 0), abs=1e-3)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_gaps_and_merged_sentences_are_found(seed: int) -> None:
    random = Random(seed)
    known = vocabulary(150)
    texts = [sentence(random, known) for _ in range(200)]
    others = [translated(text) for text in texts]
    ours = texts[:50] + texts[60:]  # ten translations have no source
    theirs = others[:100] + others[105:150] + [f"{others[150][:-1]} {others[151]}"] + others[152:]
    [found] = align([Document(lines(ours), lines(theirs))])
    wanted = [(n, n, (1, 1)) for n in range(50)] + [(n, n + 10, (1, 1)) for n in range(50, 90)]
    wanted += [(n, n + 5, (1, 1)) for n in range(95, 140)] + [(140, 145, (2, 1))]
    wanted += [(n, n + 4, (1, 1)) for n in range(142, 190)]
    right = set(wanted) & {each for each in kinds(found) if all(each[2])}
    pairs = [each for each in found if each.pairs]
    assert len(right) >= 0.97 * len(wanted)
    assert (140, 145, (2, 1)) in right
    assert len(right) >= 0.97 * len(pairs)
    assert sum(each.confidence >= 0.5 for each in pairs) >= 0.95 * len(wanted)


def test_unrelated_documents_have_no_sure_pairs() -> None:
    random, known = Random(4), vocabulary(300)
    ours = [sentence(random, known[:150]) for _ in range(120)]
    theirs = [translated(sentence(random, known[150:])) for _ in range(120)]
    [found] = align([Document(lines(ours), lines(theirs))])
    assert sum(each.confidence >= 0.5 for each in found) <= 12


def test_a_model_tells_what_words_alone_do_not() -> None:
    """Ten sentences teach no lexicon; half of them are missing on the other side."""
    random, known = Random(6), vocabulary(400)
    ours = [sentence(random, known) for _ in range(10)]
    kept = [0, 2, 5, 6, 9]
    theirs = [translated(ours[number]) for number in kept]
    told = [translated(text) for text in ours]
    [found] = align([Document(lines(ours), lines(theirs), told)])
    pairs = {each.source: each.target for each in found if each.confidence >= 0.5}
    assert pairs.items() >= {(0, 0), (2, 1), (6, 3)}
    assert len(pairs) <= 5


def test_a_long_text_is_divided_at_sure_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    random, known = Random(8), vocabulary(150)
    texts = [sentence(random, known) for _ in range(200)]
    monkeypatch.setattr(aligning, "MAX_CELLS", 5000)
    [found] = align([Document(lines(texts), lines([translated(text) for text in texts[:60] + texts[70:]]))])
    wanted = {(n, n if n < 60 else n - 10, (1, 1)) for n in range(200) if not 60 <= n < 70}
    assert len(wanted & set(kinds(found))) >= 0.95 * len(wanted)


def test_an_empty_side_is_a_gap_and_no_error() -> None:
    [found] = align([Document(lines(["One.", "Two."]), [])])
    assert kinds(found) == [(0, 0, (1, 0)), (1, 0, (1, 0))]
    assert align([Document([], [])]) == [[]]
