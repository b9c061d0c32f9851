"""Every kind of model on a pretended device (`meta`): a tensor left on the CPU fails, waits for the device are counted.

Nothing is computed there. A number that is read from the device, for which a GPU would be waited for, is made up here.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from limelight.config import EncoderOnlyConfig, TrainingConfig
from limelight.models.families import build_model
from limelight.models.interface import Model, Seq2Seq
from limelight.models.recurrent import model as recurrent_model
from limelight.models.transformer.halves import Classifier, MaskedModel
from limelight.tokens import Tokenizers
from limelight.training.optimization.loss import batch_loss
from limelight.training.optimization.optimizer import make_optimizer, set_rate
from limelight.training.optimization.precision import HalfCopy
from limelight.training.optimization.update import update
from tests.models.helpers import Vocabulary, every_model, make_model, random_batch

META = torch.device("meta")
MODELS = dict(every_model())
FURTHER = ("transformer", "gru-bahdanau-additive", "decoder-only")


class Pretended:
    """Counts what would wait for the device, and makes up the numbers that are read from it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.waits = 0
        for name, number in (("item", 1), ("__int__", 1), ("__bool__", False), ("__float__", 1.0), ("__index__", 1)):
            patch.setattr(Tensor, name, self._counted(getattr(Tensor, name), lambda _, number=number: number))
        patch.setattr(Tensor, "tolist", self._counted(Tensor.tolist, lambda tensor: [1.0] * len(tensor)))
        patch.setattr(Tensor, "cpu", self._counted(Tensor.cpu, lambda tensor: torch.full(tensor.shape, 5)))
        # What `meta` does not have: autocast, fused kernels, packed sequences.
        enabled, autocast = torch.is_autocast_enabled, torch.autocast
        patch.setattr(torch, "is_autocast_enabled", lambda kind=None: kind != "meta" and bool(kind) and enabled(kind))
        patch.setattr(torch, "autocast", lambda kind, **how: nullcontext() if kind == "meta" else autocast(kind, **how))
        begin, step = torch.optim.AdamW.__init__, torch.optim.AdamW.step

        def plain(optimizer: torch.optim.AdamW, groups: Any, **settings: Any) -> None:
            begin(optimizer, groups, **{**settings, "fused": False, "foreach": False})
            optimizer.defaults["fused"] = True

        def plain_step(optimizer: torch.optim.AdamW) -> None:
            vars(optimizer).pop("found_inf", None)
            step(optimizer)

        patch.setattr(torch.optim.AdamW, "__init__", plain)
        patch.setattr(torch.optim.AdamW, "step", plain_step)
        patch.setattr(recurrent_model, "pack_padded_sequence", lambda padded, lengths, **_: padded)
        patch.setattr(recurrent_model, "pad_packed_sequence", lambda outputs, **_: (outputs, None))

    def _counted(self, own: Callable[..., Any], made_up: Callable[[Tensor], Any]) -> Callable[..., Any]:
        def read(tensor: Tensor, *more: Any) -> Any:
            if not tensor.is_meta:
                return own(tensor, *more)
            self.waits += 1
            return made_up(tensor)

        return read


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pretended]:
    with monkeypatch.context() as patch:
        yield Pretended(patch)


def learn(model: Model, batch: Any, *, half: bool = False, kind: str = "adam") -> None:
    model = model.train().to(META)
    computing: Any = HalfCopy(model, torch.bfloat16).refreshed() if half else model
    optimizer = make_optimizer(model, TrainingConfig(optimizer=kind, weight_decay=0.1))
    set_rate(optimizer, 1e-3)
    loss = partial(batch_loss, label_smoothing=0.1)
    how: Any = {"loss": loss, "clip_norm": 1.0, "interruptible": nullcontext(), "tokens": batch.target_tokens}
    unread = update(computing, [batch.to(META)], optimizer, **how)
    assert all(parameter.grad is None or parameter.grad.is_meta for parameter in model.parameters())
    assert all(value.is_meta or value.ndim == 0 for state in optimizer.state.values() for value in state.values())
    unread.read()


@pytest.mark.parametrize("name", MODELS)
def test_an_update_stays_on_its_device_and_waits_for_it_once(name: str, pretended: Pretended) -> None:
    model = make_model(MODELS[name])
    learn(model, random_batch(model))
    assert pretended.waits == 1


@pytest.mark.parametrize("changed", [{"half": True}, {"kind": "muon"}, {"half": True, "kind": "muon"}], ids=str)
@pytest.mark.parametrize("name", FURTHER)
def test_so_do_a_half_copy_and_muon(name: str, changed: dict[str, Any], pretended: Pretended) -> None:
    model = make_model(MODELS[name])
    learn(model, random_batch(model), **changed)
    assert pretended.waits == 1


@pytest.mark.parametrize("labels", [(), ("one", "two")])
def test_so_do_encoders_without_a_decoder(labels: tuple[str, ...], pretended: Pretended) -> None:
    config = EncoderOnlyConfig(layers=1, d_model=8, heads=2, d_ff=12)
    vocabulary = Vocabulary(29)
    model = build_model(config, Tokenizers(vocabulary, vocabulary), labels)
    assert isinstance(model, Classifier | MaskedModel)
    batch = random_batch(make_model(MODELS["transformer-two-way"]), [5, 2], [5, 2])
    if labels:
        from limelight.batching.batch import label_batch

        batch = label_batch([[1, 2, 3], [4]], [0, 1], padding=28)
    learn(model, batch)
    assert pretended.waits == 1


STEPS = 4


@pytest.mark.parametrize("name", MODELS)
def test_steps_stay_on_their_device(name: str, pretended: Pretended) -> None:
    """Without any wait for one hypothesis; with several, at most one each few steps, for the columns in use."""
    model = make_model(MODELS[name]).eval().to(META)
    assert isinstance(model, Seq2Seq)
    batch = random_batch(model).to(META)
    with torch.no_grad():
        memory = model.encode(batch.source, batch.source_valid)
        for width in (1, 3):
            state = model.start(memory, width)
            before = pretended.waits
            for _ in range(STEPS):
                features, state = model.step(torch.ones(3, width, dtype=torch.int64, device=META), state)
                state = state.reorder(torch.zeros(3, width, dtype=torch.int64, device=META))
            assert model.project(features).is_meta
            assert pretended.waits - before <= (STEPS if "ssru" in name else 2)
