"""An ensemble is the mean of its members' probabilities."""

import math

import pytest
import torch

from limelight.decoding.ensemble import Ensemble, prepare_each
from limelight.inference.prepare import CompiledTransformer
from limelight.models.recurrent.model import Recurrent
from tests.decoding.decode import beam_search, greedy_search
from tests.decoding.fakes import TableModel, limits, log_probabilities, random_model, sources
from tests.models.helpers import make_model, random_batch, recurrent, transformer


def joined(members: list[TableModel]) -> TableModel:
    """One table with the mean of the members' probabilities, in double precision."""
    mean = torch.stack([member.logits.softmax(-1) for member in members]).mean(0)
    return TableModel(mean.log())


@pytest.mark.parametrize("count", [1, 2, 3])
def test_probabilities_are_averaged(seed: int, count: int) -> None:
    members = [random_model(5, 11, spread=4.0) for _ in range(count)]
    lengths, mean = limits(2, 3, 5, 7, 11), joined(members)
    found = beam_search(Ensemble(members), *sources(*range(5)), beam_size=3, max_lengths=lengths, n_best=2)
    expected = beam_search(mean, *sources(*range(5)), beam_size=3, max_lengths=lengths, n_best=2)
    for kind, (hypotheses, others) in enumerate(zip(found, expected, strict=True)):
        assert [one.ids for one in hypotheses] == [one.ids for one in others]
        for hypothesis in hypotheses:
            ids = [*hypothesis.ids, 0] if hypothesis.finished else hypothesis.ids
            exact = math.fsum(log_probabilities(mean, kind, ids))
            assert hypothesis.log_probability == pytest.approx(exact, abs=1e-6)


def test_members_may_have_features_of_different_widths(seed: int) -> None:
    class Wide(TableModel):
        def step(self, ids, state):
            features, state = super().step(ids, state)
            return torch.cat([features, torch.zeros_like(features[..., :2])], dim=-1), state

        def project(self, features):
            return features[..., :-2]

    narrow, wide = random_model(3, 7), Wide(random_model(3, 7).logits)
    found = greedy_search(Ensemble([narrow, wide]), *sources(0, 1, 2), max_lengths=limits(5, 7, 11))
    expected = greedy_search(joined([narrow, wide]), *sources(0, 1, 2), max_lengths=limits(5, 7, 11))
    assert [path.ids for path in found] == [path.ids for path in expected]


def test_what_is_impossible_for_one_member_is_not_for_all(seed: int) -> None:
    certain = torch.full((1, 1009, 5), -torch.inf, dtype=torch.float64)
    certain[..., 2] = 0
    ensemble = Ensemble([TableModel(certain), random_model(1, 5)])
    features, _ = ensemble.step(torch.tensor([[5]]), ensemble.start(ensemble.encode(*sources(0))))
    logits = ensemble.project(features)
    assert logits.isfinite().all()
    assert float(logits.exp().sum()) == pytest.approx(1)


@torch.inference_mode()
def test_members_are_prepared_one_by_one(seed: int) -> None:
    one, other = make_model(transformer(tie="two-way")).eval(), make_model(recurrent()).eval()
    both = Ensemble([one, other, one])  # the same twice, which counts twice
    ready, batch, found = prepare_each(both, "fp32"), random_batch(both), []
    assert [type(member) for member in ready.members] == [CompiledTransformer, Recurrent, CompiledTransformer]
    for model in (both, ready):
        state = model.start(model.encode(batch.source, batch.source_valid), 2)
        for _ in range(3):
            features, state = model.step(torch.tensor([[5, 7]] * 3), state)
            state = state.reorder(torch.tensor([[0, 0], [1, 0], [0, 1]]))
        found.append(model.project(features))
    torch.testing.assert_close(found[1], found[0], rtol=1e-5, atol=1e-5)
