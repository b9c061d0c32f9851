"""The probe records and changes what any model computes, in all positions and step after step, and leaves no trace."""

import threading

import pytest
import torch

from limelight.errors import UserError
from limelight.inspection.probe import attentions_of, probe
from limelight.models.interface import Seq2Seq
from tests.models.helpers import decoder_only, exact_model, random_batch, recurrent, transformer

CONFIGS = {
    "transformer": transformer(),
    "additive": transformer(score="additive", norm="pre"),
    "ssru": transformer(decoder_autoreg="ssru"),
    "bahdanau": recurrent(),
    "luong": recurrent(wiring="luong"),
    "decoder-only": decoder_only(),
}


def stepped(model: Seq2Seq, batch) -> torch.Tensor:
    state, found = model.start(model.encode(batch.source, batch.source_valid)), []
    for ids in batch.target_in.split(1, dim=1):
        features, state = model.step(ids, state)
        found.append(features)
    return torch.cat(found, dim=1)


@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_a_change_is_the_same_at_once_and_step_after_step(seed: int, name: str) -> None:
    model = exact_model(CONFIGS[name])
    batch = random_batch(model)
    attention, owner = list(attentions_of(model).items())[-1]
    heads = getattr(owner, "heads", 1)
    keep = torch.ones(heads).double()
    keep[0] = 0.5
    plain = model(batch)
    with probe(model, {attention: keep}):
        changed = model(batch)
        torch.testing.assert_close(stepped(model, batch), changed)
        with probe(model, weights=True, states=True):
            torch.testing.assert_close(model(batch), changed)
    assert not torch.allclose(changed, plain)
    assert torch.equal(model(batch), plain)
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_states_can_be_replaced(seed: int, norm: str) -> None:
    """With the states of another batch from some layer on, its features come out."""
    model = exact_model(transformer(norm=norm))
    one, other = random_batch(model), random_batch(model)
    with probe(model, states=True) as seen:
        expected = model(other)
    assert [len(seen.stack(side)) for side in ("encoder", "decoder")] == [3, 3]
    for depth in range(3):
        change = {name: lambda _, name=name: seen.states[name] for name in (f"encoder.{depth}", f"decoder.{depth}")}
        with probe(model, change=change):
            torch.testing.assert_close(model(one), expected)


@torch.no_grad()
def test_factors_follow_the_model_to_its_device(seed: int) -> None:
    model = exact_model(transformer())
    batch = random_batch(model).to(torch.device("meta"))
    with probe(model.to("meta"), {"decoder.0.cross": torch.zeros(3)}):
        assert model(batch).is_meta


@torch.no_grad()
def test_other_threads_are_neither_recorded_nor_changed(seed: int) -> None:
    model = exact_model(transformer())
    batch, found = random_batch(model), []
    plain = model(batch)
    with probe(model, {"decoder.0.cross": torch.zeros(3)}, weights=True) as seen:
        thread = threading.Thread(target=lambda: found.append(model(batch).detach()))
        thread.start()
        thread.join()
    torch.testing.assert_close(found[0], plain)
    assert not any(seen.calls.values())


def test_unknown_names_are_refused(seed: int) -> None:
    model = exact_model(transformer())
    for name, given in (
        ("decoder.7.cross", {"keep_heads": {"decoder.7.cross": torch.ones(3)}}),
        ("decoder.9", {"change": {"decoder.9": torch.relu}}),
        ("encoder.1", {"keep_heads": {"encoder.1": torch.ones(3)}}),
        ("decoder.1.cross", {"change": {"decoder.1.cross": torch.relu}}),
    ):
        message = f"unknown attention or state '{name}'; the model has encoder.0.self"
        with pytest.raises(UserError, match=message), probe(model, **given):
            pass
