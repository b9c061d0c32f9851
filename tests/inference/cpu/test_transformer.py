"""The Transformer's step with compiled attention, and with products where there is no compiler: both obey the laws of a
state, and compute what the readable model computes."""

import pytest
import torch

from limelight.inference import prepare as preparing
from limelight.inference.cpu import state as compiled
from limelight.inference.cpu.state import CompiledState
from limelight.inference.prepare import prepare
from limelight.models.interface import Seq2Seq
from limelight.models.transformer import Transformer, TransformerState
from tests.models.followed import Followed, assert_same, random_sources
from tests.models.helpers import make_model, transformer

TOLERANCE = 1e-5
CONFIGS = {
    "post": transformer(),
    "pre": transformer(norm="pre"),
    "learned": transformer(positions="learned", max_positions=19),
    "wide-values": transformer(value_size=5),
    "narrow-values": transformer(head_size=7, value_size=3, norm="pre"),
    "split": transformer(d_model=12, head_size=None, activation="gelu"),
    "rotary": transformer(positions="rotary"),
    "rotary-pre": transformer(positions="rotary", norm="pre", head_size=6, value_size=3),
    "ssru": transformer(decoder_autoreg="ssru"),
    "ssru-pre-rotary": transformer(decoder_autoreg="ssru", norm="pre", positions="rotary", value_size=3),
}


@pytest.fixture(params=CONFIGS)
def model(request: pytest.FixtureRequest, seed: int) -> Transformer:
    return make_model(CONFIGS[request.param]).eval()


@pytest.fixture(params=["compiled", "products"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type:
    """The state that a prepared model must begin with."""
    if request.param == "products":
        monkeypatch.setattr(preparing, "CompiledTransformer", None)
    return CompiledState if request.param == "compiled" else TransformerState


def prepared(model: Transformer) -> Seq2Seq:
    return prepare(model, "fp32")


@torch.inference_mode()
@pytest.mark.parametrize("life", range(3))
def test_a_random_life_changes_nothing(
    model: Transformer, kind: type, monkeypatch: pytest.MonkeyPatch, seed: int, life: int
) -> None:
    """There is room for three positions at first, so that it becomes too small while sentences come and go."""
    monkeypatch.setattr(compiled, "FIRST_ROOM", 3)
    followed = Followed.at_random(prepared(model), seed + life, truth=model, tolerance=TOLERANCE)
    assert isinstance(followed.state, kind)
    followed.live(13)


@torch.inference_mode()
def test_every_deed_at_unequal_ages(model: Transformer, kind: type, seed: int) -> None:
    ready = prepared(model)
    followed = Followed(ready, random_sources(ready, (6, 1, 4)), 3, truth=model, tolerance=TOLERANCE)
    followed.step()
    followed.step()
    followed.reorder()
    followed.admit(random_sources(ready, (9, 2)), [3, 1])  # behind the last, and in a place that is taken from another
    followed.step()
    followed.reorder()
    followed.keep([3, 0, 3, 1])  # a sentence may stand there twice, and then goes two ways
    followed.step()
    followed.release([1, 2])
    followed.step()
    followed.admit(random_sources(ready, (5,)), [2])
    followed.reorder()
    followed.step()
    followed.step()


@torch.inference_mode()
@pytest.mark.parametrize(
    ("heads", "dtype"),
    [
        ({"decoder.0.self": torch.tensor([1.0, 0.0, 1.0]), "decoder.1.cross": torch.zeros(3)}, torch.float32),
        (None, torch.float64),
    ],
)
def test_products_take_what_the_loops_do_not(
    heads: dict[str, torch.Tensor] | None, dtype: torch.dtype, seed: int
) -> None:
    model = make_model(transformer()).to(dtype).eval()
    source = torch.randint(1, 29 - 1, (3, 5))
    found = []
    for one in (model, prepared(model)):
        state = one.start(one.encode(source, source > 0, keep_heads=heads), 2)
        assert isinstance(state, TransformerState)
        ids = torch.full((3, 2), one.start_id)
        for _ in range(3):
            features, state = one.step(ids, state)
            ids = torch.stack([source[:, 0], source[:, 1]], dim=1)
        found.append(features)
    assert_same(*found, TOLERANCE)
