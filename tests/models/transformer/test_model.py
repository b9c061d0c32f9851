"""The Transformer's own promises; what it shares with every model stands in tests/properties."""

import pytest
import torch
from torch.nn import functional

from limelight.config import TransformerConfig
from limelight.models.transformer.layers import Sublayer
from limelight.models.transformer.model import Transformer
from tests.models.helpers import exact_model, make_model, random_batch

SIZES = {"encoder_layers": 1, "decoder_layers": 2, "d_model": 12, "heads": 3, "d_ff": 17}


def exact(**settings: object) -> Transformer:
    model = exact_model(TransformerConfig(**{**SIZES, **settings}))
    assert isinstance(model, Transformer)
    return model


@pytest.mark.parametrize(
    ("tie", "source_tied", "output_tied"), [("three-way", True, True), ("two-way", False, True), ("none", False, False)]
)
def test_tying(tie: str, source_tied: bool, output_tied: bool, seed: int) -> None:
    model = exact(tie=tie)
    assert (model.encoder.embedding is model.decoder.embedding) == source_tied
    assert (model.output is None) == output_tied
    features = model(random_batch(model))
    weight = model.decoder.embedding.weight[:-1] if output_tied else model.output.weight
    torch.testing.assert_close(model.project(features), functional.linear(features, weight))


def test_keys_and_values_of_the_source_are_computed_once(seed: int) -> None:
    """A step projects its own token and nothing of the source."""
    model = exact()
    batch = random_batch(model)
    state = model.start(model.encode(batch.source, batch.source_valid))
    calls = []
    for layer in model.decoder.layers:
        layer.cross_attention.key_proj.register_forward_hook(lambda *_: calls.append(1))
    _, after = model.step(batch.target_in[:, :1], state)
    assert not calls
    assert after.sources is state.sources
    assert [each.length for each in after.past.layers] == [1, 1]


def test_dropout_thins_the_output_of_a_sublayer_and_never_the_residual(seed: int) -> None:
    sublayer = Sublayer(torch.nn.LayerNorm(7), dropout=0.5, norm_first=True)
    zeros, ones = torch.zeros(2, 3, 7), torch.ones(2, 3, 7)
    assert set(sublayer(zeros, lambda _: ones).unique().tolist()) == {0.0, 2.0}
    torch.testing.assert_close(sublayer(ones, lambda _: zeros), ones)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_bf16_autocast_trains_and_stays_near_fp32(norm: str, seed: int) -> None:
    model = make_model(TransformerConfig(**SIZES, norm=norm)).eval()
    batch = random_batch(model)
    with torch.no_grad():
        expected = model(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        features = model(batch)
        logits = model.project(features)
    torch.testing.assert_close(features.float(), expected, rtol=0.1, atol=0.1)
    logits.float().logsumexp(-1).sum().backward()
    for name, parameter in model.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name


@pytest.mark.parametrize("tie", ["three-way", "two-way", "none"])
def test_a_bias_of_the_output_is_added_to_every_logit(tie: str, seed: int) -> None:
    model = exact_model(TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=12, heads=3, d_ff=17, tie=tie,
                                          output_bias=True))  # fmt: skip
    features = torch.randn(5, 12, dtype=torch.float64)
    plain = model.project(features)
    assert not model.output_bias.any()
    with torch.no_grad():
        model.output_bias.normal_()
    torch.testing.assert_close(model.project(features), plain + model.output_bias)
    model.project(features).sum().backward()
    torch.testing.assert_close(model.output_bias.grad, torch.full((model.output_size,), 5.0, dtype=torch.float64))
