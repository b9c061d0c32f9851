"""The demo's languages: both sides are parsed here by grammars of their own, and must mean the same."""

import itertools
import random
import subprocess
import sys
from pathlib import Path

import pytest

from examples import phrase_grammar
from examples.phrase_grammar import WORDS, pairs, write_corpus

NOUNS = [entry.split() for entry in WORDS["animate"] + WORDS["places"]]
VERBS = [entry.split() for entry in WORDS["transitive"] + WORDS["intransitive"]]
DETERMINERS = [entry.split() for entry in WORDS["determiners"]]
ADJECTIVES = WORDS["adjectives"]["anything"] | WORDS["adjectives"]["animate"]
TIMES = {english: (tense, lumi) for tense, words in WORDS["times"].items() for english, lumi in words.items()}
ENDINGS = {
    gender + suffix: (gender, case, plural)
    for gender in "oai"
    for suffix, case, plural in (
        ("", "subject", False),
        ("s", "subject", True),
        ("m", "object", False),
        ("n", "object", True),
        ("t", "place", False),
        ("k", "place", True),
    )
}
DETERMINER_OF = {word: entry for entry in DETERMINERS for word in entry[:2]}
DETERMINER_OF["an"] = DETERMINER_OF["a"]
TENSES = {"et": "present", "al": "past", "ur": "future"}
AGREEING = {
    stem + ending: (kind, stem, *features)
    for kind, stems in (
        ("determiner", {entry[2] for entry in DETERMINERS}),
        ("noun", {entry[2] for entry in NOUNS}),
        ("adjective", set(ADJECTIVES.values())),
        ("pronoun", {"k"}),
    )
    for stem in stems
    for ending, features in ENDINGS.items()
}
VERB_FORMS = {
    entry[3] + marker + gender + suffix: (entry[3], tense, gender, suffix == "s")
    for entry in VERBS
    for marker, tense in TENSES.items()
    for gender in "oai"
    for suffix in ("", "s")
}


class Words:
    """A sentence read from left to right."""

    def __init__(self, sentence: str) -> None:
        assert sentence.endswith(".")
        assert sentence[0].isupper()
        self.left = (sentence[0].lower() + sentence[1:-1]).split()

    @property
    def next(self) -> str:
        return self.left[0] if self.left else ""

    def take(self) -> str:
        return self.left.pop(0)

    def take_if(self, condition: bool) -> str:
        return self.take() if condition else ""


class English:
    """Reads an English sentence into its meaning, in stems of Lumi, and checks English agreement on the way."""

    def __init__(self, sentence: str) -> None:
        self.words = Words(sentence)

    def sentence(self) -> tuple:
        subject = self.phrase()
        verb = self.verb(plural=subject[2])
        seen = self.phrase() if self.words.next in DETERMINER_OF else None
        preposition = self.words.take_if(self.words.next in WORDS["prepositions"])
        place = (WORDS["prepositions"][preposition], self.phrase()) if preposition else None
        time = self.words.take_if(self.words.next in TIMES)
        assert not self.words.left
        assert not time or TIMES[time][0] == verb[1], "a time of another tense"
        return subject, verb, seen, place, TIMES[time][1] if time else ""

    def phrase(self) -> tuple:
        determiner = self.words.take()
        assert (determiner == "an") == (determiner in ("a", "an") and self.words.next[0] in "aeiou")
        adjectives = []
        while self.words.next in ADJECTIVES:
            adjectives.append(ADJECTIVES[self.words.take()])
        noun = self.words.take()
        (entry,) = (entry for entry in NOUNS if noun in entry[:2])
        plural = noun == entry[1]
        assert determiner.replace("an", "a") == DETERMINER_OF[determiner][plural], "determiner and noun disagree"
        relative = self.relative(plural) if self.words.take_if(self.words.next == "that") else None
        return DETERMINER_OF[determiner][2], entry[2:], plural, tuple(adjectives), relative

    def relative(self, plural: bool) -> tuple:
        if self.words.next in DETERMINER_OF:
            subject = self.phrase()
            return "object", self.verb(plural=subject[2]), subject
        return "subject", self.verb(plural), self.phrase()

    def verb(self, plural: bool) -> tuple[str, str, bool]:
        helper = self.words.take_if(self.words.next in ("will", "did", "does", "do"))
        negated = bool(self.words.take_if(self.words.next == "not"))
        form = self.words.take()
        (entry,) = (entry for entry in VERBS if form in entry[:3])
        if helper:
            assert form == entry[0]
            assert helper in ("will", "did", ("does", "do")[plural]), "helper and subject disagree"
            return entry[3], {"will": "future", "did": "past"}.get(helper, "present"), negated
        assert not negated
        assert form in (entry[2], entry[0] if plural else entry[1]), "verb and subject disagree"
        return entry[3], "past" if form == entry[2] else "present", negated


class Lumi:
    """Reads a Lumi sentence into the same meaning, and checks that everything agrees that has to."""

    def __init__(self, sentence: str) -> None:
        self.words = Words(sentence)

    def sentence(self) -> tuple:
        place = None
        if self.case() == "place":
            phrase = self.phrase("place")
            place = (self.words.take(), phrase)
            assert place[0] in WORDS["prepositions"].values()
        subject = self.phrase("subject")
        seen = self.phrase("object") if self.case() == "object" else None
        time = self.words.take_if(self.words.next in {lumi for _, lumi in TIMES.values()})
        verb = self.verb(subject)
        assert not self.words.left
        return subject, verb, seen, place, time

    def case(self) -> str:
        """The case of the next word, "" if it is none of a phrase."""
        return AGREEING[self.words.next][3] if self.words.next in AGREEING else ""

    def agreeing(self, kind: str, features: tuple) -> str:
        found, stem, *has = AGREEING[self.words.take()]
        assert (found, *has) == (kind, *features), f"{stem} does not agree"
        return stem

    def phrase(self, case: str) -> tuple:
        features = AGREEING[self.words.next][2:]
        assert features[1] == case
        determiner, noun = self.agreeing("determiner", features), self.agreeing("noun", features)
        gender, _, plural = features
        assert [noun, gender] in [entry[2:] for entry in NOUNS], "a noun in another gender"
        adjectives = []
        while AGREEING.get(self.words.next, ("",))[0] == "adjective":
            adjectives.append(self.agreeing("adjective", features))
        phrase = (determiner, [noun, gender], plural, tuple(adjectives))
        is_relative = AGREEING.get(self.words.next, ("",))[0] == "pronoun"
        return (*phrase, self.relative(phrase) if is_relative else None)

    def relative(self, noun: tuple) -> tuple:
        gap = self.case()
        self.agreeing("pronoun", (noun[1][1], gap, noun[2]))
        other = self.phrase("object" if gap == "subject" else "subject")
        return gap, self.verb(noun if gap == "subject" else other), other

    def verb(self, subject: tuple) -> tuple[str, str, bool]:
        negated = bool(self.words.take_if(self.words.next == "nu"))
        stem, tense, gender, plural = VERB_FORMS[self.words.take()]
        assert (gender, plural) == (subject[1][1], subject[2]), "verb and subject disagree"
        return stem, tense, negated


def test_both_sides_parse_agree_and_mean_the_same(seed: int) -> None:
    for english, lumi in itertools.islice(pairs(seed), 2000):
        assert English(english).sentence() == Lumi(lumi).sentence(), (english, lumi)


@pytest.mark.parametrize(
    "sentence",
    [
        "The dogs sees a cat.",  # verb and subject
        "This dogs see a cat.",  # determiner and noun
        "A old dog sings.",  # article and vowel
        "The dog saw a cat tomorrow.",  # tense and time
        "The dog that see a cat sings.",  # verb and subject in the relative clause
    ],
)
def test_the_english_reader_hears_mistakes(sentence: str) -> None:
    with pytest.raises(AssertionError):
        English(sentence).sentence()


@pytest.mark.parametrize(
    "sentence",
    [
        "Lo kano dormeta.",  # verb and subject
        "La kano dormeto.",  # determiner and noun
        "Lo kano vela dormeto.",  # adjective and noun
        "La kana dormeta.",  # a noun in another gender
        "Lo kano ka lam miram videto dormeto.",  # relative pronoun and noun
        "Lo kano ko lam miram videta dormeto.",  # relative verb and noun
    ],
)
def test_the_lumi_reader_hears_mistakes(sentence: str) -> None:
    with pytest.raises(AssertionError):
        Lumi(sentence).sentence()


def test_no_form_of_lumi_has_two_readings() -> None:
    stems = [entry[2] for entry in DETERMINERS + NOUNS] + [*ADJECTIVES.values(), "k"]
    fixed = [*WORDS["prepositions"].values(), *(lumi for _, lumi in TIMES.values()), "nu"]
    forms = [stem + ending for stem in stems for ending in ENDINGS] + [*VERB_FORMS] + fixed
    assert len(set(forms)) == len(forms)


def test_the_example_of_the_docstring_holds() -> None:
    lines = (phrase_grammar.__doc__ or "").splitlines()
    english, lumi = (line.strip() for line in lines if line.startswith("    ") and line.endswith("."))
    assert English(english).sentence() == Lumi(lumi).sentence()


def test_the_same_seed_gives_the_same_pairs_and_another_gives_others(seed: int) -> None:
    first, again, other = (list(itertools.islice(pairs(n), 300)) for n in (seed, seed, seed + 1))
    assert first == again
    assert len(set(first) & set(other)) < 150


def test_sentences_are_not_soon_repeated(seed: int) -> None:
    """Of n draws from N equally likely sentences about n^2 / 2N come twice: 25 of 5,000 would mean half a million."""
    dice = random.Random(seed)
    drawn = [phrase_grammar.random_clause(dice).english() for _ in range(5000)]
    assert len(drawn) - len(set(drawn)) < 25


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
    expected = [f"{english}\t{lumi}" for english, lumi in itertools.islice(pairs(5), 17)]
    assert (tmp_path / "a" / "b" / "train.tsv").read_text(encoding="utf-8").splitlines() == expected
