"""Parallel text from a phrase grammar: a small English and Lumi, a language that exists only here.

    python examples/phrase_grammar.py --pairs 20000 --seed 1 --out runs/demo/corpus

Lumi has what makes translation need attention:
- every noun has a gender (o, a or i) that English does not show; determiner, noun and adjectives all carry the ending
  of its gender, number and case;
- adjectives follow the noun, postpositions follow their phrase, the phrase of place opens the sentence;
- the verb closes its clause and agrees with its subject in gender and number, however much stands between them.

    The old dog does not see the small cats near a house today.
    Unat kasat apu lo kano velo lan miran pitan hodi nu videto.
    (a house near the dog old the cats small today not see)
"""

import argparse
import random
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple


class Noun(NamedTuple):
    """An English noun and its stem and gender in Lumi."""

    singular: str
    plural: str
    stem: str
    gender: str


class Verb(NamedTuple):
    """An English verb and its stem in Lumi."""

    base: str
    third: str
    past: str
    stem: str


class Determiner(NamedTuple):
    """An English determiner, "-" in a number that it does not have, and its stem in Lumi."""

    singular: str
    plural: str
    stem: str


WORDS = tomllib.loads(Path(__file__).with_name("lumi.toml").read_text(encoding="utf-8"))
ANIMATE, PLACES = ([Noun(*entry.split()) for entry in WORDS[kind]] for kind in ("animate", "places"))
TRANSITIVE, INTRANSITIVE = ([Verb(*entry.split()) for entry in WORDS[kind]] for kind in ("transitive", "intransitive"))
DETERMINERS = [Determiner(*entry.split()) for entry in WORDS["determiners"]]
ADJECTIVES = WORDS["adjectives"]["anything"] | WORDS["adjectives"]["animate"]
TENSES = {"present": "et", "past": "al", "future": "ur"}
CASES = {"subject": ("", "s"), "object": ("m", "n"), "place": ("t", "k")}  # singular, plural


@dataclass(frozen=True)
class Phrase:
    """Determiner, adjectives and noun; `relative` says more about the noun in a clause of its own."""

    determiner: Determiner
    adjectives: tuple[str, ...]
    noun: Noun
    plural: bool
    relative: "Clause | None" = None

    def ending(self, case: str) -> str:
        return self.noun.gender + CASES[case][self.plural]

    def english(self) -> str:
        words = [*self.adjectives, self.noun[self.plural]]
        determiner = self.determiner[self.plural]
        article = "an" if determiner == "a" and words[0][0] in "aeiou" else determiner
        return " ".join([article, *words, *(["that", self.relative.english()] if self.relative else [])])

    def lumi(self, case: str) -> str:
        stems = [self.determiner.stem, self.noun.stem, *(ADJECTIVES[word] for word in self.adjectives)]
        words = [stem + self.ending(case) for stem in stems]
        if self.relative:  # its pronoun agrees with this noun; its case is the part the noun plays in the clause
            words += ["k" + self.ending(self.relative.gap), self.relative.lumi()]
        return " ".join(words)


@dataclass(frozen=True)
class Clause:
    """Somebody does something. In a relative clause the noun it belongs to is left out: that part is its `gap`."""

    subject: Phrase
    verb: Verb
    tense: str
    negated: bool = False
    object: Phrase | None = None
    place: tuple[str, Phrase] | None = None
    time: str | None = None
    gap: str = ""

    def english(self) -> str:
        said = self.verb.past if self.tense == "past" else self.verb[not self.subject.plural]
        if self.tense == "future":
            said = "will not " * self.negated + "will " * (not self.negated) + self.verb.base
        elif self.negated:
            helper = "did" if self.tense == "past" else ("does", "do")[self.subject.plural]
            said = f"{helper} not {self.verb.base}"
        subject = "" if self.gap == "subject" else self.subject.english()
        seen = self.object.english() if self.object and self.gap != "object" else ""
        place = f"{self.place[0]} {self.place[1].english()}" if self.place else ""
        return " ".join(filter(None, [subject, said, seen, place, self.time]))

    def lumi(self) -> str:
        place = f"{self.place[1].lumi('place')} {WORDS['prepositions'][self.place[0]]}" if self.place else ""
        subject = "" if self.gap == "subject" else self.subject.lumi("subject")
        seen = self.object.lumi("object") if self.object and self.gap != "object" else ""
        time = WORDS["times"][self.tense][self.time] if self.time else ""
        verb = self.verb.stem + TENSES[self.tense] + self.subject.ending("subject")
        return " ".join(filter(None, [place, subject, seen, time, "nu" * self.negated, verb]))


def random_phrase(dice: random.Random, nouns: list[Noun]) -> Phrase:
    """A determiner that has the number, up to two different adjectives that suit the noun, and the noun."""
    determiner = dice.choice(DETERMINERS)
    plural = determiner.singular == "-" or (determiner.plural != "-" and dice.random() < 0.4)
    suitable = list(WORDS["adjectives"]["anything"] if nouns is PLACES else ADJECTIVES)
    adjectives = tuple(dice.sample(suitable, dice.choice((0, 0, 1, 1, 2))))
    return Phrase(determiner, adjectives, dice.choice(nouns), plural)


def with_relative(dice: random.Random, phrase: Phrase) -> Phrase:
    """The phrase with a clause in which its noun acts ("that sees the cat") or is acted on ("that the cat sees")."""
    other, verb, tense = random_phrase(dice, ANIMATE), dice.choice(TRANSITIVE), dice.choice(("present", "past"))
    if dice.random() < 0.5:
        return replace(phrase, relative=Clause(phrase, verb, tense, object=other, gap="subject"))
    return replace(phrase, relative=Clause(other, verb, tense, object=phrase, gap="object"))


def random_clause(dice: random.Random) -> Clause:
    """Any main clause; three in ten say more about their subject or object in a relative clause."""
    subject, seen = random_phrase(dice, ANIMATE), random_phrase(dice, ANIMATE)
    relative = dice.random()
    if relative < 0.15:
        subject = with_relative(dice, subject)
    elif relative < 0.3:
        seen = with_relative(dice, seen)
    transitive = dice.random() < 0.75
    tense = dice.choice(list(TENSES))
    return Clause(
        subject=subject,
        verb=dice.choice(TRANSITIVE if transitive else INTRANSITIVE),
        tense=tense,
        negated=dice.random() < 0.25,
        object=seen if transitive else None,
        place=(dice.choice(list(WORDS["prepositions"])), random_phrase(dice, PLACES)) if dice.random() < 0.4 else None,
        time=dice.choice(list(WORDS["times"][tense])) if dice.random() < 0.3 else None,
    )


def pairs(seed: int) -> Iterator[tuple[str, str]]:
    """Endless (English, Lumi) sentences, no English one twice; the same seed gives the same ones."""
    dice, seen = random.Random(seed), set()
    while True:
        clause = random_clause(dice)
        english, lumi = (f"{text[0].upper()}{text[1:]}." for text in (clause.english(), clause.lumi()))
        if english not in seen:
            seen.add(english)
            yield english, lumi


def write_corpus(folder: Path, count: int, seed: int, held_out: int = 500) -> None:
    """`train.tsv` with `count` pairs, `valid.tsv` and `test.tsv` with `held_out` each; no sentence stands in two."""
    folder.mkdir(parents=True, exist_ok=True)
    source = pairs(seed)
    for name, size in (("train", count), ("valid", held_out), ("test", held_out)):
        lines = [f"{english}\t{lumi}\n" for english, lumi in (next(source) for _ in range(size))]
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write train.tsv, valid.tsv and test.tsv of English and Lumi.")
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs to train on (20000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="folder for the three files")
    given = parser.parse_args()
    write_corpus(given.out, given.pairs, given.seed)
