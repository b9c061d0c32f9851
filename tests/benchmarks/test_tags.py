"""Sentences with spans: the generator keeps what is around them, and the figures find what is wrong."""

from types import SimpleNamespace

from benchmarks.tags import figures, generate, is_well_formed, rendered, spans_of
from limelight.text.protectors import DEFAULT, find_spans

PAIRS = [
    (f"Tom saw {number} lamps in the house.", f"Tom sah {number} Lampen in dem Haus.") for number in range(100, 160)
]


def test_spans_are_put_around_the_text_and_rendering_takes_them_away(seed: int) -> None:
    items = generate(PAIRS, 50, seed)
    assert len(items) == 50
    assert any(item.values for item in items)
    for item in items:
        assert 1 <= len(find_spans(item.marked, DEFAULT)) <= 6
        assert is_well_formed(item.marked), item.marked
        assert rendered(item.marked, item.values) == item.plain


def test_the_same_seed_makes_the_same_sentences(seed: int) -> None:
    assert generate(PAIRS, 20, seed) == generate(PAIRS, 20, seed)


def test_figures_find_what_is_lost_doubled_and_crossed() -> None:
    items = generate(PAIRS, 4, 1)
    good = [item.marked for item in items]
    notes = [SimpleNamespace(moved=(), failed=())] * 4
    assert figures(items, good, good, notes)["exactly_once_percent"] == 100
    bad = [good[0], "Tom", good[2] + "</b>", good[3] + "<b>"]
    found = figures(items, good, bad, [*notes[:3], SimpleNamespace(moved=(), failed=("<b>",))])
    assert found["exactly_once_percent"] == 25
    assert found["failed_percent"] == 25
    assert found["well_formed_percent"] == 50
    assert not is_well_formed("<b><i></b></i>")
    assert spans_of("<b>a</b><b>") == {"<b>": 2, "</b>": 1}
