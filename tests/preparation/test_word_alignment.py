"""Word alignments of a language whose words are known, whatever order its sentences have."""

import random

from limelight.preparation.word_alignment import (
    FormCounter,
    WordAligner,
    Words,
    grow,
    split_words,
)
from limelight.text.marked_pairs import Link
from limelight.text.pair import Sides

DICTIONARY = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf", "six": "sechs",
              "red": "rot", "blue": "blau", "old": "alt", "house": "Haus", "tree": "Baum", "see": "sehen"}  # fmt: skip


def sentences(count: int, *, swaps: int = 2) -> list[tuple[Words, list[Link]]]:
    """A target word for each source word, some neighbors swapped, and a particle at the end that nothing becomes."""
    found = []
    for _ in range(count):
        source = random.sample(list(DICTIONARY), random.randint(2, 7))
        order = list(range(len(source)))
        for _ in range(swaps):
            place = random.randrange(len(source) - 1)
            order[place], order[place + 1] = order[place + 1], order[place]
        links = sorted(Link(place, number) for number, place in enumerate(order))
        found.append((Words(source, [DICTIONARY[source[place]].lower() for place in order] + ["ne"]), links))
    return found


def test_the_words_of_a_language_are_aligned(seed: int) -> None:
    """Almost every link between words of the dictionary is found and sure."""
    random.seed(seed)
    known = sentences(600)
    aligner = WordAligner([words for words, _ in known])
    found = [{link for link in links if link.sure} for links in aligner.align([words for words, _ in known])]
    right = sum(len(links & set(gold)) for links, (_, gold) in zip(found, known, strict=True))
    assert right >= 0.95 * sum(len(gold) for _, gold in known)
    assert right >= 0.95 * sum(map(len, found))


def test_sure_links_are_in_both_directions_and_others_grow_beside_them() -> None:
    # target word 0 comes from source 0; 1 from 1; 2 from 1; 4 from 5.  source 0 becomes 0; 1 becomes 1; 2 becomes 1
    links = grow([0, 1, 1, -1, 5], [0, 1, 1, -1, -1, -1])
    assert links == [Link(0, 0), Link(1, 1), Link(1, 2, sure=False), Link(2, 1, sure=False)]
    assert grow([], []) == []
    assert grow([-1], [-1, -1]) == []


def test_related_forms_translate_the_same_word() -> None:
    counter = FormCounter()
    for source, target, times in (("cat", "Katze", 5), ("cat", "Katzen", 2), ("cat", "Kerl", 3), ("cats", "Katzen", 4),
                                  ("cat", "Katzem", 1), ("dog", "Katzer", 3)):  # fmt: skip
        for _ in range(times):
            counter.add(split_words(Sides(source, target)), [Link(0, 0)])
    counter.add(split_words(Sides("cat", "Katzerl")), [Link(0, 0, sure=False)])
    assert counter.related(1) == {"Katze": ["Katzen"], "Katzen": ["Katze"]}
    assert counter.related(0) == {"cat": ["cats"], "cats": ["cat"]}


def test_links_of_words_that_have_none_are_added_at_the_end() -> None:
    # source word 3 and target word 3 have no link beside another one, and only one direction links them
    of_targets, of_sources = [0, -1, -1, 3], [0, -1, -1, -1]
    assert grow(of_targets, of_sources) == [Link(0, 0)]
    assert grow(of_targets, of_sources, final=True) == [Link(0, 0), Link(3, 3, sure=False)]
    assert grow([0, 0], [1], final=True) == [Link(0, 0, sure=False), Link(0, 1)]
    assert grow([], [], final=True) == []
