"""The coverage penalty against its formula, and in translations."""

import math

import numpy as np
import pytest

from limelight.config import DecodingConfig
from limelight.decoding.request import Hypothesis, Request, search_settings
from limelight.errors import UserError
from limelight.inspection.coverage import LEAST, ranked
from tests.models.helpers import attention_of, batch_of, exact_model, recurrent, transformer


@pytest.mark.parametrize("config", [transformer(), recurrent(score="local_p")], ids=["transformer", "recurrent"])
def test_hypotheses_are_ranked_by_score_and_coverage(config, seed: int) -> None:
    model, source = exact_model(config), [3, 4, 5, 6]
    texts = [(7, 8), (9,), (10, 11, 12, 13, 14)]
    hypotheses = [Hypothesis(ids, -1.0 - rank / 100, -2.0, rank != 1) for rank, ids in enumerate(texts)]
    expected = []
    for each in hypotheses:
        layers = attention_of(model, batch_of(model, [source], [list(each.ids)])).layers("cross")
        weights = np.mean([layer[0].detach().numpy() for layer in layers], axis=(0, 1))  # (target, source)
        of_token = weights[: len(each.ids) + each.finished, : len(source)].sum(axis=0)
        expected.append((each.finished, each.score + 0.3 * np.log(of_token.clip(LEAST, 1)).sum(), each.ids))
    expected.sort(reverse=True)  # a hypothesis that was cut comes after those that have finished
    settings = search_settings(DecodingConfig(), {"beam_size": 3, "n_best": 3, "coverage_penalty": 0.3})
    found = ranked(model, Request((*source, 0), 9, settings), hypotheses)
    assert [each.ids for each in found] == [ids for *_, ids in expected]
    assert [each.score for each in found] == pytest.approx([score for _, score, _ in expected])


def test_a_search_keeps_all_hypotheses_of_its_beam() -> None:
    settings = search_settings(DecodingConfig(beam_size=3), {"coverage_penalty": 0.2})
    assert (settings.kept, settings.n_best, settings.prune) == (3, 1, math.inf)
    assert search_settings(DecodingConfig(coverage_penalty=0.2), {"beam_size": 1}).coverage_penalty == 0
    with pytest.raises(UserError, match="coverage_penalty must be at most 10"):
        search_settings(DecodingConfig(), {"coverage_penalty": 11})
