"""Corpora of two directions make a bad model without an error, so they are refused."""

import random
import time

import pytest

from limelight.config import (
    Corpus,
    DataConfig,
    Direction,
    check_directions,
    directions_of,
    find_direction,
    find_pivots,
    fitting_directions,
    require_not_reversed,
    require_one_direction,
)
from limelight.errors import UserError


def corpus(name: str, source: str = "source", target: str = "target") -> Corpus:
    return Corpus(files=(f"folder/{name}",), source=source, target=target)


ENGLISH_GERMAN = corpus("a.tsv", "en", "de")


@pytest.mark.parametrize(
    "other",
    [
        corpus("b.tsv", "de", "en"),
        corpus("b.tsv", "en", "fr"),
        corpus("b.tsv", "source", "en"),
    ],
)
def test_another_direction_is_refused_and_both_corpora_are_named(other: Corpus) -> None:
    with pytest.raises(UserError) as caught:
        require_one_direction([ENGLISH_GERMAN, ENGLISH_GERMAN, other])
    message = str(caught.value)
    assert (
        f"b.tsv translates from {other.source} to {other.target}, and folder/a.tsv translates from en to de" in message
    )
    assert "name the languages with --source and --target" in message


@pytest.mark.parametrize(
    "other",
    [
        ENGLISH_GERMAN,
        corpus("b.tsv"),
        corpus("b.tsv", "en-GB", "de_AT"),
    ],
)
def test_what_is_not_known_to_differ_is_taken(other: Corpus) -> None:
    require_one_direction([ENGLISH_GERMAN, other])
    require_one_direction([other, ENGLISH_GERMAN])
    require_not_reversed([other], [ENGLISH_GERMAN])


def test_a_corpus_that_names_one_side_is_held_to_it() -> None:
    with pytest.raises(UserError, match=r"c\.tsv .* and folder/b\.tsv"):
        require_one_direction([corpus("b.tsv", "en"), corpus("c.tsv", "de")])
    require_one_direction([])


def test_a_test_set_the_wrong_way_round_is_refused() -> None:
    for reversed_test in (corpus("t.tsv", "de", "en"), corpus("t.tsv", "de"), corpus("t.tsv", target="en-US")):
        with pytest.raises(UserError, match=r"t\.tsv .*the model translates from en to de: give the two files in the"):
            require_not_reversed([reversed_test], [ENGLISH_GERMAN])
    for fine in (corpus("t.tsv", "fr", "nl"), corpus("t.tsv", "eng", "deu"), corpus("t.tsv")):
        require_not_reversed([fine], [ENGLISH_GERMAN])
    require_not_reversed([corpus("t.tsv", "en", "en")], [corpus("a.tsv", "en", "en")])
    require_not_reversed([corpus("t.tsv", "de", "en")], [ENGLISH_GERMAN, corpus("a.tsv", "de", "en")])


def data(*trained: Corpus, valid: tuple[Corpus, ...] = (), both: bool = False) -> DataConfig:
    return DataConfig(train=trained, valid=valid, both_directions=both)


ENGLISH_FRENCH = corpus("b.tsv", "en", "fr")


def test_the_directions_of_a_run_are_those_of_its_corpora_and_the_ways_back() -> None:
    assert directions_of(data(ENGLISH_GERMAN, ENGLISH_GERMAN, ENGLISH_FRENCH)) == (("en", "de"), ("en", "fr"))
    both = directions_of(data(ENGLISH_GERMAN, ENGLISH_FRENCH, both=True))
    assert list(map(str, both)) == ["en-de", "en-fr", "de-en", "fr-en"]


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("en", "de", "en-de"),
        ("de", "", "de-en"),
        ("", "FR", "en-fr"),
        ("", "de-AT", "en-de"),
    ],
)
def test_a_direction_is_found_by_what_is_asked_for(source: str, target: str, found: str) -> None:
    directions = directions_of(data(ENGLISH_GERMAN, ENGLISH_FRENCH, both=True))
    assert str(find_direction(directions, source, target)) == found


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("", "", "several directions: en-de, en-fr, de-en, fr-en; say which one: give --to LANG"),
        ("", "en", "to en fits 2 of them: give --to LANG, and --from LANG"),
        ("de", "fr", "does not translate from de to fr; its directions are: en-de, en-fr, de-en, fr-en"),
        ("", "ja", "does not translate to ja; its directions are: en-de"),
    ],
)
def test_a_direction_that_is_not_there_or_not_clear_lists_those_that_are(
    source: str, target: str, message: str
) -> None:
    directions = directions_of(data(ENGLISH_GERMAN, ENGLISH_FRENCH, both=True))
    with pytest.raises(UserError, match=message):
        find_direction(directions, source, target)


def test_a_bilingual_model_needs_no_language() -> None:
    assert find_direction(directions_of(data(ENGLISH_GERMAN))) == ("en", "de")
    assert find_direction(directions_of(data(corpus("a.tsv")))) is None
    assert find_direction(()) is None
    with pytest.raises(UserError, match="one whose languages were not named when it was trained"):
        find_direction((), "", "fr")
    with pytest.raises(UserError, match="does not translate to de; its directions are: one whose languages were not"):
        find_direction(directions_of(data(corpus("a.tsv"))), "", "de")


def test_several_directions_name_the_languages_of_every_corpus() -> None:
    check_directions(data(ENGLISH_GERMAN, ENGLISH_FRENCH, valid=(ENGLISH_FRENCH,)))
    check_directions(data(ENGLISH_GERMAN, valid=(corpus("v.tsv", "de", "en"),), both=True))
    with pytest.raises(
        UserError, match=r"c\.tsv: a model of several directions needs the languages .* en-de=folder/c\.tsv"
    ):
        check_directions(data(ENGLISH_GERMAN, ENGLISH_FRENCH, corpus("c.tsv")))
    with pytest.raises(
        UserError, match=r"v\.tsv: validation text for de-en, which is not a direction of this run: en-de"
    ):
        check_directions(data(ENGLISH_GERMAN, ENGLISH_FRENCH, valid=(corpus("v.tsv", "de", "en"),)))
    with pytest.raises(UserError, match=r"a model translates in one direction"):
        check_directions(data(ENGLISH_GERMAN, valid=(corpus("v.tsv", "de", "en"),)))
    with pytest.raises(UserError, match=r"c\.tsv: both sides have the language en"):
        check_directions(data(corpus("c.tsv", "en", "en"), both=True))


def test_codes_of_one_language_agree_and_its_varieties_are_two() -> None:
    require_one_direction([corpus("a.tsv", "he", "no"), corpus("b.tsv", "iw", "nb"), corpus("c.tsv", "he@formal")])
    require_not_reversed([corpus("t.tsv", "he", "no")], [corpus("a.tsv", "iw", "nb")])
    for one, other in (("pt-PT", "pt-BR"), ("zh-Hans", "zh-Hant")):
        check_directions(data(corpus("c.tsv", one, other), both=True))
    for one, other in (("pt", "pt-BR"), ("iw", "he")):
        with pytest.raises(UserError, match="both sides have the language"):
            check_directions(data(corpus("c.tsv", one, other), both=True))


def test_pivots_connect_what_no_direction_does() -> None:
    draw = random.Random(5)
    for _ in range(100):
        pairs = [draw.sample(["en", "de", "fr", "pt-BR", "pt", "pt-PT"], 2) for _ in range(draw.randint(0, 9))]
        directions = tuple(Direction(*pair) for pair in pairs)
        found = find_pivots(directions)
        assert all(
            {Direction(pair.source, by), Direction(by, pair.target)} <= {*directions} for pair, by in found.items()
        )
        assert not any(fitting_directions(directions, *pair) for pair in found)
        reachable = {(one.source, two.target) for one in directions for two in directions if one.target == two.source}
        missing = {pair for pair in reachable if not fitting_directions(directions, *pair)} - {*found}
        assert all(source.split("-")[0] == target.split("-")[0] for source, target in missing)
    languages = [f"{first}{second}" for first in "abcdefg" for second in "abcdefg"]
    many = [Direction(one, two) for one in languages for two in languages if one != two]
    began = time.process_time()
    assert find_pivots(many) == {}
    assert time.process_time() - began < 5  # a minute with each pair of directions


def test_a_variety_beside_its_language_is_found_by_its_own_name() -> None:
    both = Direction("en", "de"), Direction("en-US", "de")
    assert [find_direction(both, *each) for each in both] == [*both]
