"""The tables are complete: every tensor of every such model has one place, and what is missing or too much is told."""

import pytest
import torch

from limelight.config import TransformerConfig
from limelight.errors import UserError
from limelight.interop.huggingface import width_axis
from limelight.interop.names import (
    CTRANSLATE2,
    HUGGINGFACE,
    Format,
    names_in,
    refuse,
    require_complete,
)
from limelight.storage.weights import named_weights
from tests.interop.helpers import transformer
from tests.models.helpers import exact_model, make_model, random_batch

TIES = ("three-way", "two-way", "none")


@pytest.mark.parametrize("form", [HUGGINGFACE, CTRANSLATE2])
@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize(("norm", "positions"), [("post", "sinusoidal"), ("pre", "learned")])
def test_every_tensor_has_a_name_elsewhere(form: Format, tie: str, norm: str, positions: str) -> None:
    """Tied ones have several; all others have one."""
    config = transformer(tie=tie, norm=norm, positions=positions, output_bias=True)
    table = names_in(form, config)
    used = [name for names in table.values() for name in names]
    assert set(used) == set(named_weights(make_model(config)))
    tied = {"three-way": 2 + bool(form.shared), "two-way": 1, "none": 0}[tie]
    assert len(used) == len(set(used)) + tied


@pytest.mark.parametrize("tie", TIES)
def test_the_axes_of_the_width_permute_a_model_exactly(tie: str, seed: int) -> None:
    """All features in another order, and sinusoids in that order, is the same function."""
    sizes = {"tie": tie, "d_model": 14, "heads": 2}
    interleaved, halves = (
        exact_model(TransformerConfig(**{**transformer(**sizes).model_dump(), "sinusoid_layout": layout}))
        for layout in ("interleaved", "halves")
    )
    for model in (interleaved, halves):  # the tables are fp32 otherwise, and both then hold the same numbers
        for side in (model.encoder, model.decoder):
            side.positions.table = side.positions.table.double()
    order = torch.cat([torch.arange(0, 14, 2), torch.arange(1, 14, 2)])
    weights = named_weights(interleaved)
    axes = {name: width_axis(name) for name in weights}
    permuted = {
        name: tensor if axes[name] is None else tensor.index_select(axes[name], order)
        for name, tensor in weights.items()
    }
    with torch.no_grad():
        for name, parameter in halves.named_parameters():
            parameter.copy_(permuted[name])
    batch = random_batch(interleaved)
    torch.testing.assert_close(
        interleaved.project(interleaved(batch)), halves.project(halves(batch)), rtol=1e-12, atol=1e-12
    )


def test_all_that_is_missing_and_left_over_is_listed() -> None:
    require_complete(["a", "b"], ["b", "a"], "file")
    with pytest.raises(UserError, match=r"^file: .*: missing: c, d; left over: a$"):
        require_complete(["a", "b"], ["b", "d", "c"], "file")
    with pytest.raises(UserError, match=r"left over: .* and 8 more$"):
        require_complete([f"name.{number}" for number in range(20)], [], "file")


def test_reasons_are_given_together() -> None:
    refuse([], "model")
    with pytest.raises(UserError, match=r"^model: one; two$"):
        refuse(iter(["one", "two"]), "model")
