"""The layers of a Transformer in fp32 and bf16: torch's products, and between them attention in compiled loops."""

from typing import cast

from torch import Tensor
from torch.nn import functional

from limelight.inference.cpu.attention import attend_past, attend_ragged, attend_source, rotate
from limelight.inference.cpu.jit import Integers, Numbers
from limelight.inference.cpu.state import CompiledState
from limelight.inference.transformer import PackedSelfAttention
from limelight.models.transformer import DecoderLayer, EncoderLayer, Transformer
from limelight.shapes import Float


class ProductLayers:
    """The layers of a packed Transformer. Its activations must be fp32 on a CPU."""

    def __init__(self, packed: Transformer) -> None:
        self.encoder = cast(list[EncoderLayer], list(packed.encoder.layers))
        self.decoder = cast(list[DecoderLayer], list(packed.decoder.layers))
        self.least_rows = getattr(packed.output, "least_rows", 1)
        """So many rows of a step its products fill up to; filled up here, it is done once."""

    def encode(
        self, rows: Float[Tensor, "rows model"], firsts: Integers, turns: Numbers | None
    ) -> Float[Tensor, "rows model"]:
        """The output of the encoder's layers for sentences end to end; `firsts` says where each begins, and `turns` how
        rotary positions turn each row."""
        hidden = rows[None]
        for layer in self.encoder:
            attention = cast(PackedSelfAttention, layer.attention)
            joint = attention.joint_proj(layer.attention_sublayer.before(hidden))[0].detach()
            context = attend_ragged(joint, firsts, attention.heads, attention.head_size, turns)
            hidden = layer.apply_feed_forward(layer.attention_sublayer.after(hidden, attention.out_proj(context[None])))
        return hidden[0]

    def step(
        self, rows: Float[Tensor, "rows model"], firsts: Integers, state: CompiledState, turns: Numbers | None
    ) -> Float[Tensor, "rows model"]:
        """The output of the decoder's layers for one position of the hypotheses; their keys and values are written to
        the state; `firsts` says where the hypotheses of each sentence begin, and `turns` how rotary positions turn each
        row."""
        hidden = functional.pad(rows[None], (0, 0, 0, max(0, self.least_rows - len(rows))))
        for layer, past, source in zip(self.decoder, state.past, state.sources, strict=True):
            hidden = _attend_past(layer, hidden, firsts, past, state, turns)
            hidden = layer.apply_feed_forward(_attend_source(layer, hidden, firsts, source, state))
        return hidden[0, : len(rows)]


def _attend_past(
    layer: DecoderLayer,
    hidden: Float[Tensor, "1 rows model"],
    firsts: Integers,
    past: tuple[Tensor, Tensor],
    state: CompiledState,
    turns: Numbers | None,
) -> Float[Tensor, "1 rows model"]:
    """Masked self-attention of one position, inside its residual connection."""
    joint = cast(PackedSelfAttention, layer.attention).joint_proj(layer.attention_sublayer.before(hidden))[0]
    if turns is not None:
        rotate(joint.numpy(), turns, layer.attention.heads)
    keys, values = past
    context = values.new_zeros(len(joint), *values.shape[-2:])
    attend_past(
        joint.numpy(), firsts, keys.numpy(), values.numpy(), state.ancestors.numpy(), state.ages.numpy(),
        context.numpy(),
    )  # fmt: skip
    return layer.attention_sublayer.after(hidden, layer.attention.out_proj(context.flatten(1)[None]))


def _attend_source(
    layer: DecoderLayer,
    hidden: Float[Tensor, "1 rows model"],
    firsts: Integers,
    source: tuple[Tensor, Tensor],
    state: CompiledState,
) -> Float[Tensor, "1 rows model"]:
    """Cross-attention of one position, inside its residual connection."""
    keys, values = source
    queries = layer.cross_attention.query_proj(layer.cross_sublayer.before(hidden))[0].unflatten(-1, keys.shape[-2:])
    context = values.new_zeros(len(queries), *values.shape[-2:])
    attend_source(queries.numpy(), firsts, keys.numpy(), values.numpy(), state.lengths.numpy(), context.numpy())
    return layer.cross_sublayer.after(hidden, layer.cross_attention.out_proj(context.flatten(1)[None]))
