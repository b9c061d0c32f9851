"""The Transformer (Vaswani et al. 2017): stack of layers, memory, state, and the complete model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from limelight.attention.attend import Mask, as_bias, permit_keys
from limelight.attention.multi_head import Rotate
from limelight.batching.batch import Batch
from limelight.layers.embedding import OutputProjection, RotaryPositions, TokenEmbedding
from limelight.layers.feed_forward import Dropout
from limelight.models.cache import Cells, Columns, Past, SourceView
from limelight.models.interface import MemoryT, Seq2Seq, State
from limelight.models.transformer.layers import Layer, Reading
from limelight.models.transformer.ssru import SSRULayer, cell_precision
from limelight.shapes import Bool, Float, Int


class TransformerMemory(NamedTuple):
    """The encoder's output, a vector for each source position."""

    features: Float[Tensor, "batch source model"]
    source_valid: Bool[Tensor, "batch source"]


@dataclass(frozen=True, slots=True)
class TransformerState(State):
    """What each decoder layer keeps of the target so far, and keys and values of the source, if the model has one."""

    past: Past | Cells
    ages: Int[Tensor, " batch"]
    """Number of positions that each sentence's hypotheses have read, a prompt included."""
    sources: tuple[SourceView, ...] = ()

    def release(self, slots: Int[Tensor, " slots"]) -> "TransformerState":
        # Otherwise their ages would exceed the learned positions.
        return replace(self, past=self.past.release(slots), ages=self.ages.index_fill(0, slots, 0))


class Stack(nn.Module):
    """Embedding, positions, and layers, with a final normalization for pre-norm: an encoder or a decoder."""

    def __init__(
        self,
        embedding: TokenEmbedding,
        positions: nn.Module | None,
        layers: Sequence[Layer],
        *,
        dropout: float,
        norm: nn.Module | None,
        rotary: RotaryPositions | None,
    ) -> None:
        super().__init__()
        self.embedding, self.rotary = embedding, rotary
        self.positions: Any = positions
        self.dropout = Dropout(dropout)
        self.layers = cast(Sequence[Layer], nn.ModuleList(layers))  # which does not know their type
        self.norm = norm

    def forward(
        self,
        ids: Int[Tensor, "batch length"],
        *,
        may_attend: Mask | None = None,
        causal: bool = False,
        sources: Sequence[SourceView] = (),
        past: Sequence[Columns] = (),
    ) -> Float[Tensor, "batch length model"]:
        """Features at all positions. `past` receives the keys and values of each layer.

        Dropout applies to the sums of embeddings and positions (section 5.4).
        """
        embedded = self.embedding(ids)
        hidden = self.dropout(embedded if self.positions is None else self.positions(embedded))
        rotate = self._rotation(torch.arange(ids.shape[1], device=ids.device))
        return self._through(hidden, Reading(rotate, None, may_attend, causal), sources, past)

    def step(
        self, ids: Int[Tensor, "batch width"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch width model"], TransformerState]:
        """Features of one more position of every hypothesis, and the state that includes it."""
        past, ages, bias = state.past, state.ages, None
        hidden = self.embedding(ids)
        if self.positions is not None:
            hidden = self.positions.at(hidden, ages)
        hidden = self.dropout(hidden)
        if isinstance(past, Past):
            past, permitted = past.extended()
            bias = as_bias(permitted, hidden.dtype)[:, None]
        sources = state.sources
        if sources:
            source_bias = as_bias(sources[0].may_attend, hidden.dtype)
            sources = tuple(SourceView(source.keys, source.values, source_bias) for source in sources)
        positions = ages[:, None, None]
        reading = Reading(self._rotation(positions), positions, bias)
        return self._through(hidden, reading, sources, past.layers), replace(state, past=past, ages=ages + 1)

    def leave(self, hidden: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """Apply the final normalization (pre-norm only)."""
        return hidden if self.norm is None else self.norm(hidden)

    def project_memory(
        self, memory: Float[Tensor, "batch source model"], may_attend: Bool[Tensor, "batch 1 1 source"]
    ) -> tuple[SourceView, ...]:
        """Keys and values of the memory for each layer. They do not depend on the target: compute them once."""
        attentions = [layer.cross_attention for layer in self.layers if layer.cross_attention is not None]
        # Padding has the last position, so that a score sees the length of the source.
        positions = may_attend[:, 0].cumsum(-1) - 1
        return tuple(
            SourceView(*attention.project_memory(memory, positions=positions), may_attend) for attention in attentions
        )

    def begin(self, ages: Int[Tensor, " batch"], width: int) -> Past | Cells:
        """The past before the first position, of `width` hypotheses for each sentence."""
        if not isinstance(self.layers[0], SSRULayer):
            return Past.begin(tuple(Columns() for _ in self.layers), ages, width)
        weight = self.embedding.weight
        cell = weight.new_zeros(len(ages), width, weight.shape[1], dtype=cell_precision(weight.dtype))
        return Cells(tuple([cell.clone()] for _ in self.layers))

    def _through(self, hidden: Tensor, reading: Reading, sources: Sequence[SourceView], past: Sequence[Any]) -> Tensor:
        """All layers, one after the other."""
        nothing = (None,) * len(self.layers)
        for layer, source, own in zip(self.layers, sources or nothing, past or nothing, strict=True):
            hidden = layer(hidden, reading, source, own)
        return self.leave(hidden)

    def _rotation(self, positions: Int[Tensor, "..."]) -> Rotate | None:
        """Rotary embedding bound to positions, which broadcast over (batch, heads, length)."""
        return None if self.rotary is None else partial(self.rotary, positions=positions)


class StackDecoder(OutputProjection, Seq2Seq[MemoryT, TransformerState]):
    """A model whose decoder is a stack."""

    decoder: Stack

    def step(
        self, ids: Int[Tensor, "batch width"], state: TransformerState
    ) -> tuple[Float[Tensor, "batch width features"], TransformerState]:
        return self.decoder.step(ids, state)

    @property
    def target_embedding(self) -> TokenEmbedding:
        return self.decoder.embedding


class Transformer(StackDecoder[TransformerMemory]):
    """Encoder and decoder; the output projection may be tied to the target embedding.

    Args:
        output: the final linear layer, or None to use the target embedding's rows (Vaswani et al. 2017, section 3.4).
        output_bias: added to the logits, or None.
    """

    def __init__(
        self,
        encoder: Stack,
        decoder: Stack,
        output: nn.Module | None,
        *,
        output_bias: nn.Parameter | None,
    ) -> None:
        super().__init__()
        self.encoder, self.decoder, self.output, self.output_bias = encoder, decoder, output, output_bias
        self.source_padding = encoder.embedding.padding
        self.start_id = self.target_padding = decoder.embedding.padding

    def encode(
        self, source: Int[Tensor, "batch source"], source_valid: Bool[Tensor, "batch source"]
    ) -> TransformerMemory:
        return TransformerMemory(self.encoder(source, may_attend=permit_keys(source_valid)), source_valid)

    def start(self, memory: TransformerMemory, width: int = 1) -> TransformerState:
        sources = self.decoder.project_memory(memory.features, permit_keys(memory.source_valid))
        kept = tuple(source.changed(Tensor.contiguous) for source in sources)
        ages = torch.zeros(len(memory.source_valid), dtype=torch.int64, device=memory.source_valid.device)
        return TransformerState(self.decoder.begin(ages, width), ages, kept)

    def forward(self, batch: Batch) -> Float[Tensor, "batch target features"]:
        permitted = permit_keys(batch.source_valid)
        memory = self.encoder(batch.source, may_attend=permitted)
        return self.decoder(batch.target_in, causal=True, sources=self.decoder.project_memory(memory, permitted))
