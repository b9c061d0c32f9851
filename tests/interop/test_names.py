"""The tables are complete: every tensor of every such model has one place, and what is missing or too much is told."""

import pytest

from limelight.errors import UserError
from limelight.interop.names import (
    CTRANSLATE2,
    HUGGINGFACE,
    Format,
    names_in,
    require_complete,
)
from limelight.storage.weights import named_weights
from tests.interop.helpers import transformer
from tests.models.helpers import make_model

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


def test_all_that_is_missing_and_left_over_is_listed() -> None:
    require_complete(["a", "b"], ["b", "a"], "file")
    with pytest.raises(UserError, match=r"^file: .*: missing: c, d; left over: a$"):
        require_complete(["a", "b"], ["b", "d", "c"], "file")
    with pytest.raises(UserError, match=r"left over: .* and 8 more$"):
        require_complete([f"name.{number}" for number in range(20)], [], "file")
