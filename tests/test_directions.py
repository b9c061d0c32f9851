"""Corpora of two directions make a bad model without an error, so they are refused."""

import pytest

from limelight.config import Corpus, require_not_reversed, require_one_direction
from limelight.errors import UserError


def corpus(name: str, source: str = "source", target: str = "target") -> Corpus:
    return Corpus(files=(f"folder/{name}",), source=source, target=target)


ENGLISH_GERMAN = corpus("a.tsv", "en", "de")


@pytest.mark.parametrize(
    "other",
    [
        corpus("b.tsv", "de", "en"),
        corpus("b.tsv", "en", "fr"),
        corpus("b.tsv", "fr", "de"),
        corpus("b.tsv", "source", "en"),
        corpus("b.tsv", "de", "target"),
    ],
)
def test_another_direction_is_refused_and_both_corpora_are_named(other: Corpus) -> None:
    with pytest.raises(UserError) as caught:
        require_one_direction([ENGLISH_GERMAN, ENGLISH_GERMAN, other])
    message = str(caught.value)
    assert f"b.tsv translates from {other.source} to {other.target}, and a.tsv translates from en to de" in message
    assert "name the languages with --source and --target" in message


@pytest.mark.parametrize(
    "other",
    [
        ENGLISH_GERMAN,
        corpus("b.tsv"),
        corpus("b.tsv", "en"),
        corpus("b.tsv", "en-GB", "de_AT"),
        corpus("b.tsv", "EN", "DE"),
    ],
)
def test_what_is_not_known_to_differ_is_taken(other: Corpus) -> None:
    require_one_direction([ENGLISH_GERMAN, other])
    require_one_direction([other, ENGLISH_GERMAN])
    require_not_reversed([other], [ENGLISH_GERMAN])


def test_a_corpus_that_names_one_side_is_held_to_it() -> None:
    with pytest.raises(UserError, match=r"c\.tsv .* and b\.tsv"):
        require_one_direction([corpus("b.tsv", "en"), corpus("c.tsv", "de")])
    require_one_direction([])


def test_a_test_set_the_wrong_way_round_is_refused() -> None:
    for reversed_test in (corpus("t.tsv", "de", "en"), corpus("t.tsv", "de"), corpus("t.tsv", target="en-US")):
        with pytest.raises(UserError, match=r"t\.tsv .*the model translates from en to de: give the two files in the"):
            require_not_reversed([reversed_test], [ENGLISH_GERMAN])
    for fine in (corpus("t.tsv", "fr", "nl"), corpus("t.tsv", "eng", "deu"), corpus("t.tsv")):
        require_not_reversed([fine], [ENGLISH_GERMAN])
    require_not_reversed([corpus("t.tsv", "en", "en")], [corpus("a.tsv", "en", "en")])
