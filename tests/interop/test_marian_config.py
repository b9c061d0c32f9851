"""Configurations of transformers there and back, and every reason for which one is refused."""

import pytest

from limelight.config import ModelConfig, RecurrentConfig
from limelight.errors import UserError
from limelight.interop.huggingface import _OPTIONAL, _settings, read_config
from limelight.interop.names import lacking
from tests.interop.helpers import transformer

POST_NORM = {"norm": ["post"], "positions": ["sinusoidal"]}


def marian(**changes: object) -> dict:
    return {**_OPTIONAL, **_settings(transformer(sinusoid_layout="halves"), 31, 31), **changes}


@pytest.mark.parametrize(
    ("config", "reasons"),
    [
        (RecurrentConfig(), "model.family=recurrent: no other format"),
        (transformer(norm="pre", positions="learned"), "norm=pre (supported: post); model.positions=learned"),
        (
            transformer(score="dot", decoder_autoreg="ssru"),
            "model.score=dot (supported: scaled_dot); model.decoder_aut",
        ),
        (transformer(head_size=6, value_size=6), "model.head_size=6 (supported: 4); model.value_size=6"),
        (
            transformer(kv_heads=1, norm_type="rms_norm"),
            "model.norm_type=rms_norm (supported: layer_norm); model.kv_he",
        ),
        (transformer(head_size=4, value_size=4), ""),
    ],
)
def test_what_another_format_lacks_is_named_together(config: ModelConfig, reasons: str) -> None:
    assert reasons in "; ".join(lacking(config, POST_NORM))
    assert bool(reasons) == bool(list(lacking(config, POST_NORM)))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "bart"}, "a model of type 'bart'; Marian, M2M100 and NLLB models"),
        ({"vocab_size": None, "eos_token_id": [0]}, "an integer is required for vocab_size, eos_token_id"),
        ({"activation_function": "gelu_new"}, r"activation_function=gelu_new \(supported: relu, gelu, swish"),
        ({"decoder_attention_heads": 2}, r"decoder_attention_heads=2 \(supported: 3"),
        ({"scale_embedding": False, "normalize_before": True}, "scale_embedding=False.*; normalize_before=True"),
        ({"static_position_embeddings": False}, "static_position_embeddings=False"),
        ({"d_model": 10**9}, "model.d_model: input should be less than"),
    ],
)
def test_a_foreign_configuration_is_refused(changes: dict, reason: str) -> None:
    with pytest.raises(UserError, match=f"^config.json: .*{reason}"):
        read_config(marian(**changes), "config.json")
