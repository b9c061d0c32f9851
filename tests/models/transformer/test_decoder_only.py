"""The decoder alone, held to a plain loop over its equations; what it shares with every model stands in properties."""

import math

import pytest
import torch
from torch import Tensor

from limelight.batching.batch import pad_rows
from limelight.config import DecoderOnlyConfig
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.models.transformer.halves import DecoderOnly
from limelight.models.transformer.layers import Layer
from limelight.models.transformer.model import TransformerState
from limelight.tokens import Tokenizers
from tests.models.helpers import Vocabulary, batch_as_it_stands, decoder_only, exact_model, random_rows


def exact(**settings: object) -> DecoderOnly:
    model = exact_model(decoder_only(**settings))
    assert isinstance(model, DecoderOnly)
    for parameter in model.parameters():  # biases and norms begin at zero and one, which would hide a mistake
        torch.nn.init.normal_(parameter, std=0.5)
    return model


# ---- the equations


def normalized(vector: Tensor, norm: torch.nn.LayerNorm) -> Tensor:
    centered = vector - vector.mean()
    return centered / (centered.square().mean() + norm.eps).sqrt() * norm.weight + norm.bias


def rotated(vector: Tensor, place: int) -> Tensor:
    """Pair after pair as complex numbers, turned (Su et al. 2021, equation 12)."""
    size, turned = len(vector), vector.clone()
    for pair in range(size // 2):
        number = complex(vector[2 * pair], vector[2 * pair + 1])
        angle = place * 10_000.0 ** (-2 * pair / size)
        number *= complex(math.cos(angle), math.sin(angle))
        turned[2 * pair], turned[2 * pair + 1] = number.real, number.imag
    return turned


def attention(layer: Layer, read: list[Tensor], *, rotary: bool) -> list[Tensor]:
    """What each position takes from itself and those before it, head by head."""
    part, size, value_size = layer.attention, layer.attention.head_size, layer.attention.value_size
    outputs = []
    for place in range(len(read)):
        heads = []
        for head in range(part.heads):
            own = slice(head * size, (head + 1) * size)
            query, *keys = (
                projection.weight[own] @ read[at] + projection.bias[own]
                for projection, at in ((part.query_proj, place), *((part.key_proj, at) for at in range(place + 1)))
            )
            if rotary:
                query, keys = rotated(query, place), [rotated(key, at) for at, key in enumerate(keys)]
            powers = [math.exp(float(query @ key) / math.sqrt(size)) for key in keys]
            own = slice(head * value_size, (head + 1) * value_size)
            values = [part.value_proj.weight[own] @ read[at] + part.value_proj.bias[own] for at in range(place + 1)]
            heads.append(sum(power / sum(powers) * value for power, value in zip(powers, values, strict=True)))
        outputs.append(part.out_proj.weight @ torch.cat(heads) + part.out_proj.bias)
    return outputs


def features_of(model: DecoderOnly, ids: list[int], config: DecoderOnlyConfig) -> Tensor:
    """All positions of one text, one number of a vector after the other where that is plainer."""
    stack, pre = model.decoder, config.norm == "pre"
    hidden = [stack.embedding.weight[piece] * stack.embedding.scale for piece in ids]
    if config.positions == "learned":
        hidden = [vector + stack.positions.table[place] for place, vector in enumerate(hidden)]
    if config.positions == "sinusoidal":
        for place, vector in enumerate(hidden):
            for column in range(config.d_model):
                angle = place / 10_000.0 ** ((column - column % 2) / config.d_model)
                vector[column] += math.cos(angle) if column % 2 else math.sin(angle)
    for layer in stack.layers:
        norm = layer.attention_sublayer.norm
        read = [normalized(vector, norm) for vector in hidden] if pre else hidden
        looked = attention(layer, read, rotary=config.positions == "rotary")
        hidden = [vector + more for vector, more in zip(hidden, looked, strict=True)]
        hidden = hidden if pre else [normalized(vector, norm) for vector in hidden]

        norm, network = layer.feed_forward_sublayer.norm, layer.feed_forward
        read = [normalized(vector, norm) for vector in hidden] if pre else hidden
        inner = [network.inner.weight @ vector + network.inner.bias for vector in read]
        if config.activation == "relu":
            inner = [vector * (vector > 0) for vector in inner]
        else:
            inner = [vector * (1 + torch.erf(vector / math.sqrt(2))) / 2 for vector in inner]
        hidden = [
            vector + network.outer.weight @ more + network.outer.bias
            for vector, more in zip(hidden, inner, strict=True)
        ]
        hidden = hidden if pre else [normalized(vector, norm) for vector in hidden]
    return torch.stack([normalized(vector, stack.norm) for vector in hidden] if pre else hidden)


@torch.no_grad()
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize(("positions", "activation"), [("sinusoidal", "relu"), ("learned", "gelu"), ("rotary", "relu")])
@pytest.mark.parametrize(("head_size", "value_size"), [(2, None), (2, 5), (4, 3)])
def test_it_is_its_equations(
    norm: str, positions: str, activation: str, head_size: int, value_size: int | None, seed: int
) -> None:
    settings = {"norm": norm, "positions": positions, "activation": activation, "max_positions": 13}
    settings |= {"head_size": head_size, "value_size": value_size}
    model = exact(**settings)
    rows = [[0, *row] for row in random_rows((6, 3), 29)]
    batch = batch_as_it_stands(model, [rows[0][:4], []], [rows[0][5:], rows[1][1:]])
    batch.target_in[0, 0] = rows[0][4]
    found = model(batch)
    for features, row, start in zip(found, rows, (4, 0), strict=True):
        expected = features_of(model, row, decoder_only(**settings))[start:]
        # Sinusoids and the rates of rotary positions are kept in fp32.
        torch.testing.assert_close(features[: len(expected)], expected, rtol=1e-5, atol=1e-5)
    weight = model.decoder.embedding.weight[:28]
    torch.testing.assert_close(model.project(found), found @ weight.T)


# ---- the prompt


def begun(model: DecoderOnly, prompts: list[list[int]], width: int) -> TransformerState:
    return model.start(model.encode(*pad_rows(prompts, model.source_padding)), width)


@torch.inference_mode()
def test_a_prompt_is_there_once_whatever_the_width(seed: int) -> None:
    """Its columns are those of all hypotheses, and moving these moves none of them."""
    model = exact()
    states = [begun(model, random_rows((7, 3), 29), width) for width in (1, 5)]
    for state in states:
        assert [part.shape for layer in state.past.layers for part in layer.parts] == [(2, 3, 7, 2)] * 4
        assert state.ages.tolist() == [7, 3]
    _, state = model.step(torch.randint(1, 28, (2, 5)), states[1])
    assert [layer.length for layer in state.past.layers] == [7 + 5] * 2
    places = [part.data_ptr() for layer in state.past.layers for part in layer.parts]
    moved = state.reorder(torch.randint(5, (2, 5)))
    assert [part.data_ptr() for layer in moved.past.layers for part in layer.parts] == places
    _, may_attend = moved.past.extended()
    assert may_attend.sum(-1).tolist() == [[7 + 2] * 5, [3 + 2] * 5]


# ---- positions


@torch.inference_mode()
def test_learned_positions_bound_prompt_and_target_together(seed: int) -> None:
    model = exact(positions="learned", max_positions=9)
    message = "a sequence of 10 tokens is longer than the 9 learned positions of this model"
    for prompt, target in ((4, 4), (0, 8), (8, 0)):  # one more is read: what the target begins with
        model(batch_as_it_stands(model, random_rows((prompt,), 29), random_rows((target,), 29)))
        with pytest.raises(UserError, match=message):
            model(batch_as_it_stands(model, random_rows((prompt,), 29), random_rows((target + 1,), 29)))
    state = begun(model, random_rows((7, 2), 29), 2)
    for _ in range(2):
        _, state = model.step(torch.randint(1, 28, (2, 2)), state)
    with pytest.raises(UserError, match=message):
        model.step(torch.randint(1, 28, (2, 2)), state)
    state = state.release(torch.tensor([0]))  # what is decided grows no older
    for _ in range(5):
        _, state = model.step(torch.randint(1, 28, (2, 2)), state)


# ---- what is built


def test_it_begins_with_one_vocabulary() -> None:
    with pytest.raises(
        UserError, match=r"model.family=decoder_only reads source and target as one text .* tokens.join"
    ):
        build_model(decoder_only(), Tokenizers(Vocabulary(29), Vocabulary(29)))
