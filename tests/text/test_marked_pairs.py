"""Marks put into aligned pairs: each placeholder once on each side, around and in place of what belongs together."""

import functools
import re
from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from limelight.text.marked_pairs import Alignment, Link, WordForms, joined_alignment, place_marks
from limelight.text.marking import ANNOTATION, PLACEHOLDER, TERM_BEGIN, mark_number
from limelight.text.pair import Sides
from limelight.text.words import word_spans, words_of
from tests.marks import show_marks

PAIR = Sides("The old man sold many cars, alas.", "Leider hat der alte Mann viele Autos verkauft.")
LINKS = [Link(0, 2), Link(1, 3), Link(2, 4), Link(3, 7), Link(3, 1, sure=False), Link(4, 5), Link(5, 6), Link(6, 0)]
FORMS = WordForms({"Autos": ["Auto"]}, (frozenset({"the"}), frozenset({"der"})))
ALIGNMENT = Alignment(LINKS, FORMS)

WORDS = st.sampled_from(["red", "Haus", "we", "貓", "12", "(so)", "end.", '"x"', "l'eau", "e-mail", "?", "na\u0308"])
SENTENCES = st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=20)
RANDOM_LINKS = st.lists(st.builds(Link, st.integers(0, 11), st.integers(0, 11), st.booleans()), max_size=14)


@functools.cache
def marked(seed: int, *, placeholders: bool = False, terms: bool = False, pair: Sides = PAIR) -> Sides:
    return place_marks(pair, ALIGNMENT, Random(seed), placeholders=placeholders, terms=terms)


@given(SENTENCES, SENTENCES, RANDOM_LINKS, st.integers(0, 10**9), st.booleans())
def test_each_placeholder_stands_once_on_each_side(
    source: str, target: str, links: list[Link], seed: int, terms: bool
) -> None:
    """Numbered in the order of the source; without the marks, what was not replaced stands there as before."""
    counts = len(words_of(source)), len(words_of(target))
    there = [link for link in links if link.source < counts[0] and link.target < counts[1]]
    found = place_marks(
        Sides(source, target), Alignment(there, WordForms()), Random(seed), placeholders=True, terms=terms
    )
    if any("\U000f0000" <= letter <= "\U000ffffd" for letter in source + target):
        assert found == Sides(source, target)
        return
    numbers = [mark_number(mark) for mark in PLACEHOLDER.findall(found.source)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert numbers[-1] < 30
    assert sorted(mark_number(mark) for mark in PLACEHOLDER.findall(found.target)) == numbers
    left = [PLACEHOLDER.sub(" ", ANNOTATION.sub("", side)) for side in found]
    for side, text in zip(left, (source, target), strict=True):
        assert not Counter(words_of(side)) - Counter(words_of(text))


TRANSLATIONS = {"old": "alte", "man": "Mann", "many": "viele", "cars": "Autos", "alas": "Leider"}


def test_what_a_mark_replaces_are_translations() -> None:
    replaced = Counter[str]()
    for seed in range(600):
        source, target = (words_of(side) for side in marked(seed, placeholders=True))
        for word, translation in TRANSLATIONS.items():
            assert (word in source) == (translation in target)
            replaced[word] += word not in source
    assert min(replaced[word] for word in TRANSLATIONS) > 10


def test_what_two_marks_surround_are_translations() -> None:
    phrases = {**TRANSLATIONS, "old man": "alte Mann", "many cars": "viele Autos"}
    found = Counter[str]()
    for seed in range(1500):
        source, target = map(show_marks, marked(seed, placeholders=True))
        for opening, words, closing in re.findall(r"(<ph\d+>)([a-z ]+)(<ph\d+>)", source):
            if words in phrases and len(re.findall("<ph", source)) == 2:
                assert f"{opening}{phrases[words]}{closing}" in target
                found[words] += 1
    assert set(found) == set(phrases)


def test_a_phrase_whose_links_lead_elsewhere_is_never_marked() -> None:
    """`sold` is `hat ... verkauft`: what stands between them belongs to other words."""
    assert all("sold" in marked(seed, placeholders=True).source for seed in range(300))


def test_a_term_is_followed_by_a_form_of_its_translation() -> None:
    forms = {
        "old": {"alte", "Alte"}, "man": {"Mann", "mann"}, "many": {"viele", "Viele"}, "alas": {"Leider", "leider"},
        "cars": {"Autos", "Auto", "autos"}, "old man": {"alte Mann", "Alte Mann"},
        "many cars": {"viele Autos", "Viele Autos", "viele Auto"},
    }  # fmt: skip
    seen = Counter[str]()
    for seed in range(500):
        source, target = marked(seed, terms=True)
        assert target == PAIR.target
        assert (
            ANNOTATION.sub("", source).replace("  ", " ").replace(" ,", ",").replace(" .", ".").split()
            == PAIR.source.split()
        )
        for before, form in re.findall(rf"([\w ]+?) {TERM_BEGIN} ([^{TERM_BEGIN}]+?) \W", source):
            assert any(form in allowed for word, allowed in forms.items() if before.endswith(word)), (before, form)
            seen[form] += 1
    assert {"Autos", "Auto", "autos"} <= set(seen)
    assert seen["Autos"] > seen["Auto"] > seen["autos"]


def test_words_of_every_script_are_terms() -> None:
    for word in ("किताब", "புத்தகம்", "หนังสือ", "សៀវភៅ", "ọjọ́", "ශ්\u200dරී", "كِتَاب", "книга"):
        count = len(word_spans(word))
        links = Alignment([Link(number, number) for number in range(count)], WordForms())
        pair = Sides(" ".join("abcdefghi"[:count]), word)
        drawn = [place_marks(pair, links, Random(seed), placeholders=False, terms=True) for seed in range(9)]
        assert any(TERM_BEGIN in each.source for each in drawn)


def test_without_links_there_are_marks_at_the_ends_and_no_terms() -> None:
    nothing = Alignment([], WordForms())
    for seed in range(50):
        found = place_marks(PAIR, nothing, Random(seed), placeholders=True, terms=True)
        assert PLACEHOLDER.search(found.source)
        assert TERM_BEGIN not in found.source
        assert all(text in side for text, side in zip(PAIR, found, strict=True))
    assert place_marks(PAIR, nothing, Random(1), placeholders=False, terms=True) == PAIR


def test_the_words_of_joined_pairs_are_counted_on() -> None:
    pairs = [Sides("a b", "c"), Sides("d", "e f"), Sides("g", "h")]
    links = [[Link(1, 0)], [Link(0, 1, sure=False)], [Link(0, 0)]]
    joined = joined_alignment(pairs, [Alignment(each, FORMS) for each in links])
    assert joined == Alignment([Link(1, 0), Link(2, 2, sure=False), Link(3, 3)], FORMS)
