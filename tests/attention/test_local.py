"""Local attention against equations 7 to 10 of Luong et al. 2015, in plain loops with double precision."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from limelight.attention.attend import attend
from limelight.attention.local import LocalMonotonic, LocalPredictive
from limelight.attention.scores import build_head_score
from limelight.errors import UserError
from tests.models.helpers import attention_of, batch_of, exact_model, recurrent

SIZE, WINDOW = 3, 2


def reference(score: LocalMonotonic, query: np.ndarray, keys: np.ndarray, at: int) -> list[float]:
    """The weights of one query over the keys of one sentence."""
    length, center = len(keys), float(min(at, len(keys) - 1))
    if isinstance(score, LocalPredictive):
        inner = np.tanh(score.position_proj.weight.detach().numpy() @ query)
        center = length / (1 + math.exp(-float(score.position.weight.detach().numpy()[0] @ inner)))
    inside = [s for s in range(length) if abs(s - center) <= score.window]
    projected = keys @ score.key_proj.weight.detach().numpy().T
    exponentials = {s: math.exp(float(query @ projected[s])) for s in inside}
    weights = [exponentials.get(s, 0.0) / sum(exponentials.values()) for s in range(length)]
    if isinstance(score, LocalPredictive):
        weights = [w * math.exp(-((s - center) ** 2) / (2 * (score.window / 2) ** 2)) for s, w in enumerate(weights)]
    return weights


@pytest.mark.parametrize("kind", [LocalMonotonic, LocalPredictive])
def test_weights_are_those_of_the_equations(kind: type[LocalMonotonic], seed: int) -> None:
    score = kind(SIZE, SIZE + 1, 5).double()
    score.window = WINDOW
    for parameter in score.parameters():
        nn.init.normal_(parameter)
    lengths, asked = (6, 3), torch.randn(2, 8, SIZE, dtype=torch.float64)
    keys = torch.randn(2, 6, SIZE + 1, dtype=torch.float64)
    valid = torch.arange(6) < torch.tensor(lengths)[:, None]
    placed = score.with_positions(score.prepare(keys), valid.cumsum(1) - 1)
    queries = score.with_positions(asked)
    _, weights = attend(
        queries, placed, keys, score=score.compare, factors=score.factors(queries, placed),
        may_attend=valid[:, None], want_weights=True,
    )  # fmt: skip
    assert weights is not None
    for row, length in enumerate(lengths):
        for at in range(8):
            expected = reference(score, asked[row, at].numpy(), keys[row, :length].numpy(), at)
            np.testing.assert_allclose(weights[row, at, :length].detach().numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["local_m", "local_p"])
@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
def test_padding_does_not_move_the_window(name: str, wiring: str, seed: int) -> None:
    model = exact_model(recurrent(score=name, wiring=wiring))
    sources, targets = [[3, 4, 5], [6, 7, 8, 9, 10, 11, 12]], [[3, 4, 5, 6, 7, 8], [9]]
    together, alone = (attention_of(model, batch_of(model, sources[:n], targets[:n])) for n in (2, 1))
    (both,), (one,) = together.layers("cross"), alone.layers("cross")
    torch.testing.assert_close(both[:1, :, :7, :4], one, rtol=0, atol=1e-12)


def test_a_predicted_window_is_for_recurrent_models() -> None:
    with pytest.raises(UserError, match="'local_p' needs the length of the source: it is for recurrent models"):
        build_head_score("local_p", SIZE)
