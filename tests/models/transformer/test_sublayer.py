"""Residual connection and layer normalization, after the sub-layer and before it."""

import torch

from limelight.models.transformer.layers import Sublayer


def make(*, norm_first: bool, dropout: float = 0.0) -> Sublayer:
    sublayer = Sublayer(torch.nn.LayerNorm(7), dropout=dropout, norm_first=norm_first).double()
    torch.nn.init.normal_(sublayer.norm.weight)
    torch.nn.init.normal_(sublayer.norm.bias)
    return sublayer


def normalized(sublayer: Sublayer, values: torch.Tensor) -> torch.Tensor:
    """LayerNorm written out: biased variance, epsilon inside the root."""
    centered = values - values.mean(-1, keepdim=True)
    variance = centered.square().mean(-1, keepdim=True)
    return centered / (variance + 1e-5).sqrt() * sublayer.norm.weight + sublayer.norm.bias


def test_after_as_in_the_paper(seed: int) -> None:
    """LayerNorm(x + f(x))."""
    sublayer = make(norm_first=False)
    inputs, output = torch.randn(2, 2, 3, 7, dtype=torch.float64)
    torch.testing.assert_close(
        sublayer(inputs, lambda given: given * output), normalized(sublayer, inputs + inputs * output)
    )


def test_before(seed: int) -> None:
    """x + f(LayerNorm(x))."""
    sublayer = make(norm_first=True)
    inputs, output = torch.randn(2, 2, 3, 7, dtype=torch.float64)
    expected = inputs + normalized(sublayer, inputs) * output
    torch.testing.assert_close(sublayer(inputs, lambda given: given * output), expected)


def test_dropout_thins_the_output_and_never_the_residual(seed: int) -> None:
    sublayer = make(norm_first=True, dropout=0.5)
    inputs, output = torch.zeros(2, 3, 7, dtype=torch.float64), torch.ones(2, 3, 7, dtype=torch.float64)
    assert set(sublayer(inputs, lambda _: output).unique().tolist()) == {0.0, 2.0}
    torch.testing.assert_close(sublayer(output, lambda _: inputs), output)
