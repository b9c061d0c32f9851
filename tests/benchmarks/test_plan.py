"""The plan past this machine: arithmetic that can be checked by hand, and the tables of the page."""

from pathlib import Path

import pytest

from benchmarks import plan

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_the_page_has_the_tables_as_they_are_printed() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition("<!-- plan -->\n")[2].partition("\n<!-- /plan -->")[0].strip() == plan.printed()


def test_the_exchange_is_that_of_a_ring() -> None:
    assert plan.exchange(10**8, 1) == 0
    assert plan.exchange(10**8, 2) == pytest.approx(4e8 / plan.WITHIN)
    assert plan.exchange(10**8, 16) == pytest.approx(2 * 15 / 16 * 4e8 / plan.BETWEEN)


@pytest.mark.parametrize(("recipe", "width", "inner"), [("base", 512, 2048), ("big", 1024, 4096)])
def test_parameters_are_those_of_the_matrices(recipe: str, width: int, inner: int) -> None:
    """Vaswani et al. 2017, table 3: six layers on each side and one shared embedding. Biases and norms are few."""
    encoder, decoder = (attention * 4 * width**2 + 2 * width * inner for attention in (1, 2))
    expected = plan.VOCABULARY * width + 6 * (encoder + decoder)
    assert plan.parameters(recipe) == pytest.approx(expected, rel=5e-3)
