"""Glossaries: where terms are, what counts as used, and files."""

import time
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats.glossaries import read_glossary, read_rows
from limelight.text.glossary import (
    Glossary,
    Term,
    find_terms,
    find_used,
    unused_terms,
    whole_term,
    without_added_sentences,
)

GLOSSARY = Glossary(
    [Term("bank", "Ufer"), Term("river bank", "Flussufer"),
     Term("city", "Ort"), Term("IT", "EDV"), Term("e-mail", "Post")], "en",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The bank.", ["bank"]),
        ("the river, bank", ["bank"]),
        ("a banker embanked", []),
        ("two cities", ["city"]),
        ("IT helps, it does", ["IT"]),
        ("the bank's door", ["bank"]),
        ("", []),
    ],
)
def test_whole_words_and_their_forms_match(text: str, found: list[str]) -> None:
    matches = GLOSSARY.find(text)
    assert [match.term.source for match in matches] == found
    for match in matches:
        assert text[match.begin : match.end].casefold()[:3] == match.term.source.casefold()[:3]


@pytest.mark.parametrize(
    ("language", "term", "text", "matches"),
    [
        ("en", "hat", "he hates it", False),
        ("en", "dog", "two dogs", True),
        ("en", "potato", "potatoes", True),
        ("en", "PC", "all PCs", True),
        ("en", "cat", "the cat's tail", True),
        ("de", "Bau", "der Bauer", False),
        ("de", "Wand", "wir wandern", False),
        ("de", "Arbeit", "sie arbeiten", False),
        ("de", "ab", "aber", False),
        ("de", "Kind", "den Kindern", True),
        ("de", "gut", "Guter Tag", True),
        ("de", "Student", "die Studentinnen", True),
        ("fr", "porte", "les portes", True),
        ("fr", "cheval", "des chevaux", True),
        ("fr", "jeu", "les jeux", True),
        ("es", "gato", "los gatos", True),
    ],
)
def test_other_words_with_the_same_beginning_do_not_match(language: str, term: str, text: str, matches: bool) -> None:
    assert bool(Glossary([Term(term, "x")], language).find(text)) is matches


@pytest.mark.parametrize(
    ("target", "text", "used"),
    [
        ("Haus", "die Häuser", True),
        ("Haus", "die Maus", False),
        ("Auto", "die Autobahn", False),
        ("WLAN", "der WLAN-Router", True),
        ("PC", "ein Gaming-PC", True),
        ("PC", "die PCR-Tests", False),
        ("Leuchte", "die Stehleuchte", True),
        ("rotes Auto", "das rote Auto", True),
        ("Übersetzung", "die Übersetzungen", True),
        ("Ort", "das Wort", False),
        ("5", "die 57", False),
    ],
)
def test_forms_of_a_term_count_as_used(target: str, text: str, used: bool) -> None:
    assert bool(find_used(target, text)) == used


@pytest.mark.parametrize(
    ("name", "content", "terms"),
    [
        ("a.tsv", "lamp\tLeuchte\n\ndog\tHund", [("lamp", "Leuchte"), ("dog", "Hund")]),
        ("a.csv", "source,target\nlamp,Leuchte\n\"a, b\",c", [("lamp", "Leuchte"), ("a, b", "c")]),
        ("a.csv", "de;note;en\nLeuchte;x;lamp", [("lamp", "Leuchte")]),
        ("a.csv", "English,German\nlamp,Leuchte", [("lamp", "Leuchte")]),
        ("a.tsv", "de-DE\ten-US\nLeuchte\tlamp", [("lamp", "Leuchte")]),
    ],
)  # fmt: skip
def test_files(tmp_path: Path, name: str, content: str, terms: list[tuple[str, str]]) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert list(read_glossary(tmp_path / name, "en", "de").terms) == terms


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "lamp\tLeuchte\nalone", "a.tsv:2: a term has"),
        ("a.tsv", "", "1 to 100,000 terms, not 0"),
        ("a.tsv", "!\tx", "no words"),
        ("a.tsv", "x" * 300 + "\ty", "more than 200"),
        ("a.pdf", "x", "a glossary is"),
        ("a.tsv", "a\tb\U000f0001", "private-use characters"),
        ("a.tsv", "a\t | ", "no words"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_glossary(tmp_path / name, "en", "de")
    with pytest.raises(UserError, match="cannot be read"):
        read_glossary(tmp_path / "none.csv")


def test_variants_of_a_language_are_columns_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("en\tpt-BR\tpt-PT\nbus\tônibus\tautocarro", encoding="utf-8")
    assert list(read_glossary(tmp_path / "a.tsv", "en", "pt-PT").terms) == [("bus", "autocarro")]
    (tmp_path / "b.tsv").write_text("en-GB\ten-US\nflat\tapartment", encoding="utf-8")
    assert list(read_glossary(tmp_path / "b.tsv", "en-GB", "en-US").terms) == [("flat", "apartment")]


def test_many_terms_with_one_source_take_linear_time() -> None:
    began = time.process_time()
    assert len(Glossary([Term("a", f"b{number}") for number in range(20_000)]).terms) == 20_000
    assert time.process_time() - began < 5  # 25 seconds in quadratic time


@pytest.mark.parametrize("row", ["IT\tIT", "German\tDeutsch", "it\tes"])
def test_a_term_is_not_taken_for_a_header_of_other_languages(tmp_path: Path, row: str) -> None:
    (tmp_path / "a.tsv").write_text(row, encoding="utf-8")
    assert len(read_glossary(tmp_path / "a.tsv", "en", "de").terms) == 1


def test_a_quotation_mark_that_is_not_closed_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="is a quotation mark not closed"):
        read_rows('"' + "a" * 140_000, separator=",")


def test_a_term_is_used_in_its_forms_as_often_as_the_source_has_it() -> None:
    glossary = Glossary(
        [Term("cancel", "Abbruch"), Term("car", "Wagen"), Term("driver's licence", "Fahrerlaubnis")], "en"
    )
    assert not find_used("Abbruch", "Bitte abbrechen")
    assert find_used("Abbruch", "die Abbruchtaste")
    terms = find_terms("My car is faster than your car.", glossary)
    assert len(unused_terms(terms, "Mein Wagen ist schneller als dein Auto.")) == 1
    assert unused_terms(terms, "Mein Wagen ist schneller als deine Wagens.") == ()
    assert [match.term.target for match in glossary.find("a driver’s licence")] == ["Fahrerlaubnis"]


def test_a_text_that_is_a_term_is_its_target() -> None:
    glossary = Glossary([Term("cancel", "abbrechen|Abbruch")], "en")
    assert whole_term("Cancel", find_terms("Cancel", glossary)) == "Abbrechen"
    assert whole_term("Cancel it", find_terms("Cancel it", glossary)) == ""
    padded = Glossary([Term("cancel", "| abbrechen | Abbruch")], "en")
    assert whole_term("Cancel", find_terms("Cancel", padded)) == "Abbrechen"


def test_the_longest_term_of_a_long_text_is_found_also_in_another_form() -> None:
    glossary = Glossary([Term("banks", "Bänke"), Term("bank of the river", "Ufer")], "en")
    matches = glossary.find("the banks of the river " * 20_000)  # minutes in quadratic time
    assert [match.term.target for match in matches] == ["Ufer"] * 20_000


def test_terms_with_the_same_first_word_cost_little() -> None:
    glossary = Glossary([Term(f"the bank {number}", "Ufer") for number in range(20_000)], "en")
    assert len(glossary.find("the bank, the banks 7, the bank 8, " * 500)) == 1000  # minutes where each is compared
    began = time.process_time()
    assert not Glossary([Term("a " * 99 + "b", "c")], "de").find("a " * 5000)
    assert time.process_time() - began < 5  # ten seconds in quadratic time


def test_a_translation_is_cut_after_as_many_sentences_as_its_source_has() -> None:
    assert without_added_sentences("他来了。我走了。他。", "He came. I left.", ("en", "zh")) == "他来了。我走了。"
    assert (
        without_added_sentences("- Das Haus ist alt. Gebäude.", "- It is old.", ("en", "de")) == "- Das Haus ist alt."
    )


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("C++", "Vitamin C, C++ code", ["C++"]),
        (".NET", "NET and .NET", [".NET"]),
        ("taux d'intérêt", "le taux d’intérêt monte", ["taux d’intérêt"]),
        ("R&D", "R & D, our R&D", ["R & D", "R&D"]),
        ("TCP/IP", "TCP IP", []),
        ("HbA1c (%)", "the HbA1c (%) of today", ["HbA1c (%)"]),
        ("& Co.", "Miller & Co. here", ["& Co."]),
    ],
)
def test_signs_belong_to_a_term(term: str, text: str, found: list[str]) -> None:
    assert [text[match.begin : match.end] for match in Glossary([Term(term, "x")]).find(text)] == found


def test_the_longest_term_wins_in_any_order() -> None:
    for names in (("C", "C++", "C#"), ("C#", "C++", "C")):
        found = Glossary([Term(name, "x") for name in names]).find("C++ and C, C#")
        assert [match.term.source for match in found] == ["C++", "C", "C#"]


@pytest.mark.parametrize(
    ("term", "text"),
    [("ນ້ຳ", "ນ້ຳ"), ("Müller", "Mu\u0308ller"), ("Mu\u0308ller", "Müller"), ("oʻzbek", "o'zbek"), ("o‘zbek", "oʻzbek"),
     ("iptal", "İptal"), ("İptal", "iptal")],
)  # fmt: skip
def test_marks_of_all_scripts_and_forms_belong_to_words(term: str, text: str) -> None:
    assert len(Glossary([Term(term, "x")]).find(text)) == 1
