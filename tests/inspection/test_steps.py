import math

import pytest
import torch

from limelight.inspection.look_up import decoding_steps
from tests.inspection.fakes import LETTERS, Letters
from tests.models.helpers import make_model, random_rows, recurrent, transformer


@pytest.mark.parametrize("config", [transformer(), recurrent()], ids=["transformer", "recurrent"])
def test_candidates_are_the_most_probable_and_the_chosen_ones_sum_up(seed, config):
    size = Letters.size
    model = make_model(config, size, size).eval()
    source, target = random_rows((6, 4), size - 1)
    source, target = [max(2, each) for each in source], [max(2, each) for each in target]
    steps = decoding_steps(model, LETTERS.target, model.batch([source], [target]), target)
    assert [step["chosen"]["id"] for step in steps] == [*target, model.end_id]
    assert steps[-1]["chosen"]["role"] == "end"
    # Token after token instead of all at once.
    valid = torch.ones(1, len(source) + 1, dtype=torch.bool)
    state, read = model.start(model.encode(torch.tensor([[*source, model.end_id]]), valid)), model.start_id
    for step, chosen in zip(steps, [*target, model.end_id], strict=True):
        features, state = model.step(torch.tensor([[read]]), state)
        row = model.project(features)[0, 0].log_softmax(-1).detach()
        assert step["chosen"]["log_probability"] == pytest.approx(float(row[chosen]), abs=1e-4)
        assert step["chosen"]["probability"] == pytest.approx(math.exp(float(row[chosen])), abs=1e-4)
        values = [each["log_probability"] for each in step["candidates"]]
        assert values == pytest.approx(sorted(row.tolist(), reverse=True)[: len(values)], abs=1e-4)
        assert len(values) == 10
        assert (row > row[chosen] + 1e-4).sum() <= step["rank"] <= (row > row[chosen] - 1e-4).sum()
        read = chosen
