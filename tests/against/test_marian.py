"""The whole Transformer against the Marian model of transformers, built from a configuration with random weights.

It is the published architecture with everything our conventions share with Marian: layer normalization after each
sub-layer, sinusoids in halves, one scaled embedding for source, target and output, padding as the last id and as start.
"""

import re

import pytest
import torch
from torch import nn
from transformers import MarianConfig, MarianMTModel

from limelight.config import TransformerConfig
from limelight.models.interface import Seq2Seq
from tests.models.helpers import make_model, random_batch

VOCABULARY, D_MODEL, HEADS, D_FF, ENCODER_LAYERS, DECODER_LAYERS = 29, 12, 3, 17, 2, 3

# Our names to theirs, in this order.
NAMES = (
    (r"^encoder\.embedding\.weight$", "model.shared.weight"),
    (r"^decoder\.embedding\.weight$", "model.shared.weight"),
    (r"^(encoder|decoder)\.layers", r"model.\1.layers"),
    (r"\.attention_sublayer\.norm", ".self_attn_layer_norm"),
    (r"\.cross_sublayer\.norm", ".encoder_attn_layer_norm"),
    (r"\.feed_forward_sublayer\.norm", ".final_layer_norm"),
    (r"\.feed_forward\.inner", ".fc1"),
    (r"\.feed_forward\.outer", ".fc2"),
    (r"\.attention\.", ".self_attn."),
    (r"\.cross_attention\.", ".encoder_attn."),
    (r"\.query_proj", ".q_proj"),
    (r"\.key_proj", ".k_proj"),
    (r"\.value_proj", ".v_proj"),
)


def their_name(ours: str) -> str:
    for pattern, replacement in NAMES:
        ours = re.sub(pattern, replacement, ours)
    return ours


def make_marian() -> MarianMTModel:
    marian = MarianMTModel(
        MarianConfig(
            vocab_size=VOCABULARY,
            d_model=D_MODEL,
            encoder_layers=ENCODER_LAYERS,
            decoder_layers=DECODER_LAYERS,
            encoder_attention_heads=HEADS,
            decoder_attention_heads=HEADS,
            encoder_ffn_dim=D_FF,
            decoder_ffn_dim=D_FF,
            activation_function="swish",
            max_position_embeddings=64,
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            pad_token_id=VOCABULARY - 1,
            decoder_start_token_id=VOCABULARY - 1,
            eos_token_id=0,
        )
    )
    with torch.no_grad():
        for parameter in marian.parameters():
            if parameter.requires_grad:
                nn.init.normal_(parameter, std=0.3)
        marian.model.shared.weight[VOCABULARY - 1] = 0
    return marian.eval()


def make_ours() -> Seq2Seq:
    config = TransformerConfig(
        encoder_layers=ENCODER_LAYERS,
        decoder_layers=DECODER_LAYERS,
        d_model=D_MODEL,
        heads=HEADS,
        d_ff=D_FF,
        activation="swish",
        sinusoid_layout="halves",
    )
    return make_model(config, VOCABULARY, VOCABULARY).eval()


@pytest.fixture
def pair(seed: int) -> tuple[Seq2Seq, MarianMTModel]:
    """Both models with the same weights; the table of names leaves nothing over on either side."""
    ours, marian = make_ours(), make_marian()
    theirs = dict(marian.named_parameters())
    used = {name: their_name(name) for name, _ in ours.named_parameters()}
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            parameter.copy_(theirs[used[name]])
    assert {name for name in theirs if "embed_positions" not in name} == set(used.values())
    return ours, marian


def test_logits_are_marians(pair: tuple[Seq2Seq, MarianMTModel]) -> None:
    ours, marian = pair
    batch = random_batch(ours)
    with torch.no_grad():
        logits = ours.project(ours(batch))
        expected = marian(
            input_ids=batch.source,
            attention_mask=batch.source_valid.long(),
            decoder_input_ids=batch.target_in,
            decoder_attention_mask=torch.ones_like(batch.target_in),
        ).logits
    # They score padding as a class too; here it does not exist.
    torch.testing.assert_close(logits[batch.target_valid], expected[batch.target_valid][:, :-1], rtol=1e-5, atol=1e-5)


def test_greedy_ids_are_marians(pair: tuple[Seq2Seq, MarianMTModel]) -> None:
    """Step by step through the cache of either."""
    ours, marian = pair
    batch = random_batch(ours, source_lengths=(6, 6, 6))
    with torch.no_grad():
        expected = marian.generate(
            batch.source,
            attention_mask=batch.source_valid.long(),
            num_beams=1,
            do_sample=False,
            min_new_tokens=8,
            max_new_tokens=8,
            forced_eos_token_id=None,
            bad_words_ids=[[VOCABULARY - 1]],
        )
        state = ours.start(ours.encode(batch.source, batch.source_valid))
        ids = [torch.full((3,), ours.start_id)]
        for _ in range(8):
            features, state = ours.step(ids[-1][:, None], state)
            logits = ours.project(features[:, 0])
            logits[:, ours.end_id] = -torch.inf  # min_new_tokens
            ids.append(logits.argmax(-1))
    assert torch.equal(torch.stack(ids, 1), expected)
