"""Configurations there and back, and every reason for which one is refused."""

import re
from pathlib import Path

import pytest

from limelight.config import ModelConfig, RecurrentConfig
from limelight.errors import UserError
from limelight.interop.huggingface import from_marian, refused_by_marian, to_marian
from tests.interop.helpers import transformer

PATH = Path("config.json")


def marian(**changes: object) -> dict:
    return {**to_marian(transformer(sinusoid_layout="halves"), source_size=31, target_size=31), **changes}


@pytest.mark.parametrize("tie", ["three-way", "two-way", "none"])
@pytest.mark.parametrize("activation", ["relu", "gelu", "swish"])
def test_a_configuration_comes_back(tie: str, activation: str) -> None:
    config = transformer(tie=tie, activation=activation, dropout=0.25, sinusoid_layout="halves")
    found = from_marian(to_marian(config, source_size=31, target_size=29 if tie != "three-way" else 31), PATH)
    assert found.model == config
    assert (found.source_size, found.target_size) == (31, 29 if tie != "three-way" else 31)
    assert (found.start, found.end) == (found.target_size - 1, 0)


def test_what_transformers_leaves_out_has_its_defaults() -> None:
    values = marian(activation_function="silu")
    for name in ("tie_word_embeddings", "share_encoder_decoder_embeddings", "decoder_vocab_size", "dropout"):
        del values[name]
    found = from_marian(values, PATH)
    assert (found.model.tie, found.model.activation, found.target_size) == ("three-way", "swish", 31)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (RecurrentConfig(), "model.family=recurrent: .* no other format"),
        (transformer(norm="pre"), "model.norm=pre: .*`--to ctranslate2` takes this model"),
        (transformer(positions="rotary", head_size=4), "model.positions=rotary"),
        (transformer(positions="learned"), "model.positions=learned"),
        (transformer(head_size=6), "model.head_size=6"),
        (transformer(score="dot"), "model.score=dot: the attention of a Marian model is the scaled dot product"),
        (
            transformer(decoder_autoreg="ssru"),
            "model.decoder_autoreg=ssru: the decoder of transformers' Marian has self",
        ),
        (transformer(value_size=6), "model.value_size=6: the heads of a Marian model share its width among them"),
    ],
)
def test_a_model_that_is_no_marian_model_is_refused(config: ModelConfig, reason: str) -> None:
    (only,) = refused_by_marian(config)
    assert re.match(reason, only)
    assert list(refused_by_marian(transformer(head_size=4, value_size=4))) == []


def test_reasons_come_together() -> None:
    assert len(list(refused_by_marian(transformer(norm="pre", positions="learned", head_size=6)))) == 3


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model_type": "bart"}, "a model of type 'bart'; Marian, M2M100 and NLLB models"),
        ({"d_model": None, "eos_token_id": [0]}, "an integer is required for d_model, eos_token_id"),
        ({"activation_function": "gelu_new"}, "activation_function='gelu_new': supported are relu, gelu, swish"),
        ({"activation_function": ["relu"]}, "activation_function="),
        ({"decoder_attention_heads": 2}, "encoder_attention_heads=3 and decoder_attention_heads=2"),
        ({"decoder_ffn_dim": 9}, "encoder_ffn_dim=17 and decoder_ffn_dim=9"),
        ({"scale_embedding": False}, "scale_embedding is not true"),
        ({"tie_word_embeddings": False}, "contradict each other"),
        ({"normalize_before": True}, "normalize_before=True: the model normalizes before each sub-layer"),
        ({"normalize_embedding": True}, "normalizes its embeddings"),
        ({"add_final_layer_norm": True}, "normalizes once more"),
        ({"static_position_embeddings": False}, "learned its positions"),
        ({"d_model": 10**9}, "model.d_model: input should be less than"),
        ({"dropout": 2}, "model.dropout"),
    ],
)
def test_a_foreign_configuration_is_refused(changes: dict, reason: str) -> None:
    with pytest.raises(UserError, match=f"^config.json: .*{reason}"):
        from_marian(marian(**changes), PATH)


def test_foreign_reasons_come_together() -> None:
    with pytest.raises(UserError, match=r"scale_embedding.*; .*normalize_before"):
        from_marian(marian(scale_embedding=False, normalize_before=True), PATH)
