"""The robustness inputs: enough of each, and checks that pass what is good and name what is not."""

from collections import Counter
from dataclasses import replace

import pytest

from benchmarks.robustness import CHECKS, DIRECTIONS, VALUES, Input, faults, read_inputs, report
from benchmarks.values import differs


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_there_are_enough_inputs_of_each_category(source: str, target: str) -> None:
    counts = Counter(given.category for given in read_inputs(source, target))
    assert set(counts) == set(CHECKS)
    assert min(counts.values()) >= 20


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_input_asks_for_what_its_category_checks(source: str, target: str) -> None:
    for given in read_inputs(source, target):
        if given.category in {"names", "numbers", "dates", "emoji", "links"}:
            assert given.keep, given
            assert all(item in given.text for item in given.keep), given
        if given.category in {"caps", "title", "word", "typos", "bare", "lists"}:
            assert given.any_of, given
        assert all(word == word.lower() for word in given.any_of), given
        assert given.text.strip() == given.text, given


@pytest.mark.parametrize("category", ["names", "numbers", "dates", "emoji", "links", "script", "paragraph", *VALUES])
def test_a_copy_keeps_all_that_must_be_kept(category: str) -> None:
    """The properties can be met: of a copy, taken for a translation into its own language, nothing is lost."""
    for source, target in DIRECTIONS:
        for given in read_inputs(source, target):
            if given.category == category:
                assert faults(replace(given, languages=(source, source)), given.text) == []


@pytest.mark.parametrize("category", VALUES)
@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_each_value_is_that_of_its_text(category: str, language: str) -> None:
    given = [each for each in read_inputs(language, "de" if language == "en" else "en") if each.category == category]
    assert len(given) == 21
    wrong = [each for each in given if differs(each.keep, each.text, language)]
    assert wrong == []


@pytest.mark.parametrize(
    ("given", "good", "bad", "fault"),
    [
        (Input("names", "Ask Priya.", ("Priya",), ()), "Frag Priya.", "Frag Prija.", "name lost"),
        (Input("numbers", "It has 83,000.", ("83,000",), ()), "Es hat 83.000.", "Es hat 8.300.", "number lost"),
        (Input("numbers", "It costs 45 euros.", ("45",), ()), "Es kostet 45 Euro.", "Er kostet 450.", "number lost"),
        (Input("dates", "On May 3, 1987.", ("3", "1987"), ()), "Am 3. Mai 1987.", "Am 13. Mai 1987.", "number lost"),
        (Input("numbers", "It is 1.5.", ("1.5",), ()), "Es ist 1,5.", "Es ist 15.", "number lost"),
        (Input("numbers", "It has 1,299.", ("1,299",), ()), "Es hat 1.299.", "Es hat 1,299.", "number lost"),
        (Input("dates", "On 2026-01-31.", ("31", "2026"), ()), "Am 31.01.2026.", "Am 3101.2026.", "number lost"),
        (Input("decimals", "It is 0.5.", ("0.5",), ()), "Es ist 0,5.", "Es ist 05.", "value changed"),
        (Input("decimals", "It is 0.5.", ("0.5",), ()), "Es ist 0,5.", "Es sind 0,5 von 7.", "value changed"),
        (Input("decimals", "It is 1,299.", ("1299",), ()), "Es ist 1.299.", "Es ist 1,299.", "value changed"),
        (Input("decimals", "-4.5 °C.", ("-4.5 °C",), ()), "−4,5 °C.", "4,5 °C.", "value changed"),
        (Input("prices", "It is $3.50.", ("3.50 $",), ()), "Es sind 3,50 Dollar.", "Es sind $350.", "value changed"),
        (Input("doses", "Take 0.5 mg.", ("0.5 mg",), ()), "Nimm 0,5 mg.", "Nimm 0,5.", "value changed"),
        (Input("versions", "See 1.2.3.", ("=1.2.3",), ()), "Siehe 1.2.3.", "Siehe 1.23.", "value changed"),
        (Input("times", "At 5:30 pm.", ("17:30",), ()), "Um 17.30 Uhr.", "Um 5:30 Uhr.", "value changed"),
        (Input("numeric dates", "On 2026-01-31.", ("2026-01-31",), ()), "Am 31.1.2026.", "Am 311.2026.",
         "value changed"),
        (Input("caps", "THE DOG.", (), ("hund",)), "DER HUND.", "Der Hund.", "capitals lost"),
        (Input("caps", "THE DOG.", (), ("hund",)), "DER HUND.", "DIE KATZE.", "meaning lost"),
        (Input("title", "The Train.", (), ("train",)), "Le train.", "The train.", "copied"),
        (Input("word", "Dog", (), ("hund",)), "Hund", "Katze", "meaning lost"),
        (Input("emoji", "So good 😋", ("😋",), ()), "So gut 😋", "So gut", "emoji lost"),
        (Input("links", "See www.example.org.", ("www.example.org",), ()), "Voir www.example.org.",
         "Voir www.exemple.org.", "address lost"),
        (Input("paragraph", "One.\nTwo.", (), ()), "Eins.\nZwei.", "Eins. Zwei.", "line breaks"),
        (Input("paragraph", "One. Two. Three. Four.", (), ()), "Eins. Zwei. Drei. Vier.", "Eins.", "sentence lost"),
        (Input("script", "It is θάλασσα.", ("θάλασσα",), ()), "Es ist θάλασσα.", "Es ist das.", "foreign word lost"),
        (Input("typos", "I hvae it.", (), ("habe",)), "Ich habe es.", "I hvae it.", "copied"),
        (Input("bare", "I am here", (), ("hier",)), "Ich bin hier", "Ich bin hier.", "punctuation added"),
        (Input("quotes", 'He said "no".', (), ("nein",)), "Er sagte „nein“.", "Er sagte nein.", "quotation marks lost"),
        (Input("lists", "- milk\n- salt", (), ("salz",)), "- Milch\n- Salz", "Milch\nSalz", "list marks lost"),
        (Input("lists", "- milk\n- salt", (), ("salz",)), "- Milch\n- Salz", "- Milch und Salz", "line breaks"),
        (Input("target", "Das ist gut so.", (), ()), "Das ist gut so.", "Voilà le chat.", "changed"),
        (Input("names", "Ask Bo.", ("Bo",), ()), "Frag Bo.", "Bo Bo Bo Bo", "loop"),
        (Input("names", "Ask Bo.", ("Bo",), ()), "Frag Bo.", "Frag Bo, frag Bo, frag Bo.", "loop"),
        (Input("names", "Ask Bo.", ("Bo",), ()), "Frag Bo.", "Frag Bo, ob er heute oder morgen kommt.", "too long"),
        (Input("names", "Ask Bo.", ("Bo",), ()), "Frag Bo.", "  ", "empty"),
    ],
)  # fmt: skip
def test_each_property_is_met_and_broken(given: Input, good: str, bad: str, fault: str) -> None:
    assert faults(given, good) == []
    assert fault in faults(given, bad)


def test_repetition_of_the_input_is_no_loop() -> None:
    given = Input("names", "No, no, no, no, Bo!", ("Bo",), ())
    assert faults(given, "Nein, nein, nein, nein, Bo!") == []


def test_the_report_counts_faults_by_category() -> None:
    inputs = [Input("word", "Dog", (), ("hund",)), Input("word", "Cat", (), ("katze",))]
    lines = report(inputs, ["Hund", "Hund"]).splitlines()
    assert any(line.split() == ["word", "1/2", "meaning", "lost", "1"] for line in lines)
    assert lines[-1].split() == ["all", "1/2"]
