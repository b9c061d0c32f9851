"""A glossary made from pairs, and figures that find what is not used or used where it should not be."""

from benchmarks.terms import figures, find_terms, items_of
from limelight.text.glossary import Glossary, Term

PAIRS = [(f"The lamp is {word} today.", f"Die Leuchte ist {word} heute.") for word in ("big", "old", "new", "red")]
PAIRS += [("Many lamplights burn.", "Viele Lichter brennen."), ("Some lamps.", "Einige Leuchten.")]


def test_terms_come_from_the_pairs() -> None:
    terms = find_terms(PAIRS, 10)
    assert Term("lamp", "Leuchte") in terms or Term("lamp", "heute") in terms
    assert find_terms(PAIRS[:2], 10) == []


def test_items_and_figures() -> None:
    glossary = Glossary([Term("lamp", "Leuchte")], "en")
    items = items_of(PAIRS, glossary, 100, 1)
    assert sorted(len(item.terms) for item in items) == [0, 1, 1, 1, 1, 1]
    references = [item.reference for item in items]
    found = figures(items, references, references)
    assert (found["used_percent"], found["misused_percent"], found["bleu_with"]) == (100, 0, 100)
    wrong = ["Leuchte" if item.avoided else "Lampe" for item in items]
    found = figures(items, references, wrong)
    assert (found["used_percent"], found["misused_percent"]) == (0, 100)
