"""From configuration to model, and what is refused on the way."""

from collections.abc import Callable

import pytest
import torch

from limelight.config import RecurrentConfig, TransformerConfig
from limelight.errors import UserError
from limelight.models.families import build_model, choose_device, count_parameters
from limelight.models.recurrent.model import Recurrent
from limelight.models.transformer.halves import DecoderOnly
from limelight.models.transformer.model import Transformer
from limelight.tokens import Tokenizers
from tests.models.helpers import Vocabulary, decoder_only, make_model

SMALL = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 12, "heads": 3, "d_ff": 17}


def test_the_family_decides() -> None:
    assert isinstance(make_model(TransformerConfig(**SMALL)), Transformer)
    assert isinstance(make_model(RecurrentConfig(hidden=5, embedding=7)), Recurrent)
    assert isinstance(make_model(decoder_only()), DecoderOnly)


@pytest.mark.parametrize("config", [TransformerConfig(**SMALL), RecurrentConfig(tie="three-way")])
def test_three_way_tying_needs_one_vocabulary(config: TransformerConfig | RecurrentConfig) -> None:
    """Two vocabularies of one size are still two."""
    with pytest.raises(UserError, match=r"model.tie=three-way shares one embedding .* set tokens.joint=true"):
        build_model(config, Tokenizers(Vocabulary(29), Vocabulary(29)))


def test_special_ids_come_from_the_vocabularies() -> None:
    model = make_model(TransformerConfig(**SMALL, tie="none"), source_size=31, target_size=29)
    assert (model.end_id, model.start_id, model.source_padding, model.target_padding) == (0, 28, 30, 28)


def test_each_part_of_the_paper_has_its_width() -> None:
    """Keys and values of their own widths (Vaswani et al. 2017, table 3, row B) in every attention that there is."""
    shapes = {"query_proj": (6, 12), "key_proj": (6, 12), "value_proj": (15, 12), "out_proj": (12, 15)}
    made = dict(make_model(TransformerConfig(**SMALL, head_size=2, value_size=5)).named_parameters())
    found = {name: tuple(weight.shape) for name, weight in made.items() if name.endswith("_proj.weight")}
    assert found == {
        f"{place}.{name}.weight": shape
        for place in ("encoder.layers.0.attention", "decoder.layers.0.attention", "decoder.layers.0.cross_attention")
        for name, shape in shapes.items()
    }


def test_shared_parameters_count_once() -> None:
    def count(tie: str) -> int:
        return count_parameters(make_model(TransformerConfig(**SMALL, tie=tie), 29, 29))

    assert count("two-way") - count("three-way") == 29 * 12
    assert count("none") - count("two-way") == 28 * 12


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """So many CUDA GPUs, as far as torch is asked."""

    def there_are(count: int) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)

    return there_are


def test_auto_takes_a_gpu_where_there_is_one(gpus: Callable[[int], None]) -> None:
    gpus(0)
    assert choose_device("auto") == torch.device("cpu")
    gpus(1)
    assert choose_device("auto") == torch.device("cuda")


def test_a_device_by_its_name(gpus: Callable[[int], None], monkeypatch: pytest.MonkeyPatch) -> None:
    gpus(2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    for name in ("cpu", "cuda", "cuda:0", "cuda:1", "mps"):
        assert choose_device(name) == torch.device(name)


@pytest.mark.parametrize(
    ("name", "count", "there"),
    [
        ("cuda", 0, "cpu"), ("cuda:1", 0, "cpu"), ("cuda:1", 1, "cpu, cuda, cuda:0"), ("mps", 0, "cpu"),
        ("gpu", 0, "cpu"), ("meta", 0, "cpu"), ("cpu:1", 0, "cpu"),
    ],
)  # fmt: skip
def test_a_device_that_is_not_there_is_refused(
    gpus: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, name: str, count: int, there: str
) -> None:
    gpus(count)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    message = f"^device {name}: this machine, or this build of torch, has only {there}; use one of them, or auto"
    with pytest.raises(UserError, match=message):
        choose_device(name)
