"""The Transformer recipes against the numbers of their papers."""

import pytest

from limelight.models.families import count_parameters
from limelight.recipes import find_recipe
from limelight.training.optimization.schedule import rate_of
from tests.recipes.helpers import outline


def counted(layers: int, d_model: int, d_ff: int, pieces: int) -> int:
    """Weights and biases of Vaswani et al. 2017, by hand: attention has four square maps, a layer norm two vectors."""
    attention = 4 * d_model**2 + 4 * d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return layers * (encoder + decoder) + pieces * d_model


@pytest.mark.parametrize(
    ("recipe", "sizes"), [("base", (6, 512, 2048)), ("big", (6, 1024, 4096)), ("tiny", (4, 128, 256))]
)
def test_a_recipe_has_the_parameters_its_sizes_ask_for(recipe: str, sizes: tuple[int, int, int]) -> None:
    found = count_parameters(outline(find_recipe(recipe), pieces=37_000))
    assert found == pytest.approx(counted(*sizes, 37_000), rel=2e-3)  # biases, or a row for padding, more or less


@pytest.mark.parametrize(("recipe", "millions", "tolerance"), [("base", 65, 0.03), ("big", 213, 0.01)])
def test_the_papers_table_3(recipe: str, millions: int, tolerance: float) -> None:
    """`base` by its own sizes and 37,000 tokens has 63 million; the paper prints 65 and says "about 37,000"."""
    config = find_recipe(recipe)
    assert config.tokens.vocabulary_size == 37_000
    assert count_parameters(outline(config, pieces=37_000)) == pytest.approx(millions * 1e6, rel=tolerance)


def test_ssru_differs_from_deep_in_the_decoder_alone() -> None:
    """Two square maps and a bias in place of four and their biases, in each of two layers."""
    with_attention, with_unit = find_recipe("deep-6-2"), find_recipe("ssru-6-2")
    model = with_unit.model.model_copy(update={"decoder_autoreg": "self-attention"})
    assert with_unit.model_copy(update={"recipe": "deep-6-2", "model": model}) == with_attention
    counts = [count_parameters(outline(each, pieces=1000)) for each in (with_attention, with_unit)]
    assert counts[0] - counts[1] == 2 * (2 * 256**2 + 3 * 256)


def test_the_papers_training() -> None:
    """Sections 5.3, 5.4 and 6.1."""
    base, big = find_recipe("base"), find_recipe("big")
    training, decoding = base.training, base.decoding
    assert (training.beta1, training.beta2, training.epsilon) == (0.9, 0.98, 1e-9)
    assert (training.warmup, training.label_smoothing, training.average) == (4000, 0.1, 5)
    assert rate_of(base, 4000) == pytest.approx(512**-0.5 * 4000**-0.5)
    assert (decoding.beam_size, decoding.length_penalty) == (4, 0.6)
    assert (decoding.max_length_factor, decoding.max_length_extra) == (1.0, 50)
    assert (base.model.dropout, big.model.dropout) == (0.1, 0.3)
    assert (big.training.max_steps, big.training.average) == (300_000, 20)
    assert rate_of(big, 4000) == pytest.approx(1024**-0.5 * 4000**-0.5)
