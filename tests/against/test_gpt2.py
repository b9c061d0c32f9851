"""The decoder alone against GPT-2 as transformers has it, with the same weights."""

import pytest
import torch
from torch import nn

from limelight.batching.batch import pad_rows
from limelight.config import DecoderOnlyConfig
from limelight.decoding.request import Request
from limelight.models.transformer.halves import DecoderOnly
from tests.decoding.decode import decode_batch
from tests.models.helpers import attention_of, batch_as_it_stands, make_model, random_rows

transformers = pytest.importorskip("transformers")

PIECES, WIDTH, HEADS, LAYERS, INNER, LONGEST = 29, 12, 3, 2, 17, 23


def theirs() -> nn.Module:
    """GPT-2 of random weights, biases and norms included; embedding and output are two matrices."""
    config = transformers.GPT2Config(
        vocab_size=PIECES, n_positions=LONGEST, n_embd=WIDTH, n_layer=LAYERS, n_head=HEADS, n_inner=INNER,
        activation_function="gelu", tie_word_embeddings=False, bos_token_id=0, eos_token_id=0,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config).double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


@torch.no_grad()
def ours(other: nn.Module) -> DecoderOnly:
    config = DecoderOnlyConfig(
        layers=LAYERS, d_model=WIDTH, heads=HEADS, d_ff=INNER, norm="pre", positions="learned", max_positions=LONGEST,
        activation="gelu", tie=False,
    )  # fmt: skip
    model = make_model(config, PIECES, PIECES).double().eval()
    assert isinstance(model, DecoderOnly)
    stack, body = model.decoder, other.transformer
    stack.embedding.weight.copy_(body.wte.weight / stack.embedding.scale)
    stack.positions.table.copy_(body.wpe.weight)
    for layer, block in zip(stack.layers, body.h, strict=True):
        # Their linear layers multiply from the other side, and have queries, keys and values in one matrix.
        joint = (layer.attention.query_proj, layer.attention.key_proj, layer.attention.value_proj)
        for part, weight, bias in zip(
            joint, block.attn.c_attn.weight.chunk(3, dim=1), block.attn.c_attn.bias.chunk(3), strict=True
        ):
            part.weight.copy_(weight.T)
            part.bias.copy_(bias)
        for part, other_part in (
            (layer.attention.out_proj, block.attn.c_proj),
            (layer.feed_forward.inner, block.mlp.c_fc),
            (layer.feed_forward.outer, block.mlp.c_proj),
        ):
            part.weight.copy_(other_part.weight.T)
            part.bias.copy_(other_part.bias)
        copy_norm(layer.attention_sublayer.norm, block.ln_1)
        copy_norm(layer.feed_forward_sublayer.norm, block.ln_2)
    copy_norm(stack.norm, body.ln_f)
    model.output.weight.copy_(other.lm_head.weight[:-1])  # padding cannot be predicted
    return model


def copy_norm(mine: nn.LayerNorm, other: nn.LayerNorm) -> None:
    assert mine.eps == other.eps
    mine.weight.copy_(other.weight)
    mine.bias.copy_(other.bias)


@torch.inference_mode()
def test_logits_are_those_of_gpt_2(seed: int) -> None:
    """All positions at once, and wherever a text is cut into a prompt and one step."""
    other = theirs()
    model = ours(other)
    rows = [[0, *row] for row in random_rows((LONGEST - 1, 9, 4), PIECES)]
    found = model.project(model(batch_as_it_stands(model, [[], [], []], [row[1:] for row in rows])))
    for row, logits, cut in zip(rows, found, (13, 0, 4), strict=True):
        expected = other(torch.tensor([row])).logits[0, :, :-1]
        torch.testing.assert_close(logits[: len(row)], expected, rtol=1e-5, atol=1e-5)
        state = model.start(model.encode(*pad_rows([row[:cut]], PIECES - 1)))
        features, _ = model.step(torch.tensor([[row[cut]]]), state)
        torch.testing.assert_close(model.project(features)[0, 0], expected[cut], rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_attention_weights_are_those_of_gpt_2(seed: int) -> None:
    other = theirs()
    other.set_attn_implementation("eager")
    model = ours(other)
    row = [0, *random_rows((10,), PIECES)[0]]
    weights = attention_of(model, batch_as_it_stands(model, [[]], [row[1:]])).layers("decoder_self")
    expected = other(torch.tensor([row]), output_attentions=True).attentions
    for mine, theirs_ in zip(weights, expected, strict=True):
        torch.testing.assert_close(mine, theirs_, rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_greedy_search_goes_on_as_gpt_2_does(seed: int) -> None:
    other = theirs()
    model = ours(other)
    prompts = [[0, *row] for row in random_rows((5, 2, 0), PIECES)]
    found = decode_batch(model, [Request(row[:-1], 12, first=row[-1]) for row in prompts])
    for row, (hypothesis,) in zip(prompts, found, strict=True):
        settings = transformers.GenerationConfig(
            max_new_tokens=12, do_sample=False, suppress_tokens=[PIECES - 1], eos_token_id=0, pad_token_id=0
        )
        ids = torch.tensor([row])
        whole = other.generate(ids, attention_mask=torch.ones_like(ids), generation_config=settings)[0].tolist()
        written = whole[len(row) :]
        assert list(hypothesis.ids) == (written[: written.index(0)] if 0 in written else written)
