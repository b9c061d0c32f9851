"""The recurrent encoder-decoder: encoder, decoders, and the complete model.

| decoder   | input of the cell               | query of attention        | features                       |
|-----------|---------------------------------|---------------------------|--------------------------------|
| fixed     | E y_{i-1}, c                    | none: c is one vector     | tanh(W [s_i; c; E y_{i-1}])    |
| Bahdanau  | E y_{i-1}, c_i                  | the previous state s_{i-1}| tanh(W [s_i; c_i; E y_{i-1}])  |
| Luong     | E y_{i-1}                       | the new state h_t         | h~_t = tanh(W_c [c_t; h_t])    |
| ... input | E y_{i-1}, h~_{t-1}             | the new state h_t         | h~_t = tanh(W_c [c_t; h_t])    |
|   feeding |                                 |                           |                                |

`unroll` is teacher forcing. If no input of the cell depends on attention (fixed, Luong without input feeding), the
fused kernel runs over all positions, and attention is computed for all of them at once. Otherwise a loop computes what
depends on the previous position, and the rest is computed for all positions afterwards.

Gradients flow through the whole sentence. Truncated backpropagation through time is meant for streams of unbounded
length; a sentence is short enough for its activations to fit into memory, and truncation would cut the gradient from
the end of the translation to the encoder.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from limelight.attention.attend import Attend
from limelight.attention.scores import Score
from limelight.batching.batch import Batch
from limelight.layers.embedding import OutputProjection, TokenEmbedding
from limelight.layers.feed_forward import Dropout
from limelight.models.cache import Cells, SourceView
from limelight.models.interface import Seq2Seq, State
from limelight.models.recurrent.cells import CellStack
from limelight.shapes import Bool, Float, Int


class RecurrentMemory(NamedTuple):
    """The encoder's output for a batch of sources.

    Attributes:
        annotations: a vector for each source position ("annotations" h_j in Bahdanau et al. 2015).
        last: the final state of the top layer, both directions concatenated; for an LSTM, the cell state comes second.
    """

    annotations: Float[Tensor, "batch source value_size"]
    last: tuple[Float[Tensor, "batch summary"], ...]
    source_valid: Bool[Tensor, "batch source"]


class RecurrentEncoder(nn.Module):
    """Recurrent encoder in one direction or both (Schuster & Paliwal 1997; Bahdanau et al. 2015, section 3.2).

    Sentences are packed: the backward direction begins at the end of each sentence, not in its padding.

    Args:
        layers: recurrent layers from `build_layers`.
        narrow: projects the annotations to another width, or None to leave both directions concatenated.
    """

    def __init__(
        self, embedding: TokenEmbedding, layers: nn.RNNBase, narrow: nn.Module | None, *, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(dropout)
        self.directions = 2 if layers.bidirectional else 1
        self.layers, self.narrow = layers, narrow

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        lengths: Int[Tensor, " batch"] | None = None,
    ) -> RecurrentMemory:
        """Annotations of all positions (zeros at padding) and the final state. `lengths` are on the CPU; without them
        the device is waited for."""
        lengths = source_valid.sum(1).cpu() if lengths is None else lengths
        packed = pack_padded_sequence(
            self.dropout(self.embedding(source)), lengths, batch_first=True, enforce_sorted=False
        )
        outputs, final = self.layers(packed)
        annotations, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        annotations = self.dropout(annotations)
        if self.narrow is not None:
            annotations = self.narrow(annotations)
        # (layers * directions, batch, hidden) -> the top layer's (batch, directions * hidden)
        parts = final if isinstance(final, tuple) else (final,)
        last = tuple(torch.cat(tuple(part[-self.directions :]), dim=-1) for part in parts)
        return RecurrentMemory(annotations, last, source_valid)


@dataclass(frozen=True, slots=True)
class RecurrentState(State):
    """The states of all layers, the attentional state that is fed back (of width 0 if none is), and the source: keys
    prepared for the score; without attention it is a single vector."""

    cells: Cells
    fed: Cells
    source: SourceView
    ages: Int[Tensor, " batch"]
    """Number of positions that each sentence's hypotheses have read."""

    @property
    def attentional(self) -> Float[Tensor, "batch width features"]:
        """h~ of the last position."""
        return self.fed.layers[0][0]

    @property
    def top(self) -> Float[Tensor, "batch width hidden"]:
        """The hidden state of the top layer."""
        return self.cells.layers[-1][0]


class Bridge(nn.Module):
    """The decoder's initial states from the encoder's final states: tanh(W h) for each layer, for LSTM cell states
    likewise.

    Bahdanau et al. (2015, appendix A.2.2) use tanh(W_s h) with the final state of the backward direction, Cho et al.
    (2014) tanh(V' c), and Luong et al. (2015) copy the state. One linear layer per decoder layer covers all of these,
    for one direction or two and for stacks of different depth; its input is the final states of both directions.

    Args:
        project: for each part of a state, a linear layer from the encoder's final state to the states of all `layers`.
    """

    def __init__(self, project: Sequence[nn.Module], *, layers: int) -> None:
        super().__init__()
        self.decoder_layers = layers
        self.project = nn.ModuleList(project)

    def forward(self, last: tuple[Float[Tensor, "batch summary"], ...]) -> Cells:
        """The initial states of all layers, the top layer's last, for one hypothesis."""
        # (batch, layers * hidden) -> one (batch, 1, hidden) per layer
        parts = [
            torch.tanh(project(part))[:, None].chunk(self.decoder_layers, dim=-1)
            for project, part in zip(self.project, last, strict=True)
        ]
        return Cells(tuple(map(list, zip(*parts, strict=True))))


class RecurrentDecoder(nn.Module, ABC):
    """Base class of the wirings: recurrent layers, a bridge from the encoder, attention, and a tanh layer before the
    output.

    Args:
        score: None for a decoder without attention, whose context is the encoder's final state (Cho et al. 2014;
            Sutskever et al. 2014).
        fed_size: width of the features that are fed back; 0 if none are.
    """

    def __init__(
        self, cells: CellStack, bridge: Bridge, *, score: Score | None, readout: nn.Module, fed_size: int
    ) -> None:
        super().__init__()
        self.cells, self.bridge, self.score, self.readout = cells, bridge, score, readout
        self.fed_size = fed_size
        if score is not None:
            self.attend = Attend()

    def view(self, memory: RecurrentMemory) -> SourceView:
        """The source in the form that this decoder uses; computed once per sentence."""
        if self.score is None:
            # The bottleneck: all of the source in one vector, the encoder's final state c, (batch, 1, summary).
            context = memory.last[0][:, None]
            return SourceView(context, context, memory.source_valid[:, None, :1])
        # Padding has the last position, so that a score sees the length of the source.
        positions = memory.source_valid.cumsum(1) - 1
        prepared = self.score.with_positions(self.score.prepare(memory.annotations), positions)
        # Keys and values in the same precision: autocast would cast full-precision values at every position.
        return SourceView(prepared, memory.annotations.to(prepared.dtype), memory.source_valid[:, None, :])

    def attend_source(
        self,
        queries: Float[Tensor, "batch query hidden"],
        source: SourceView,
        positions: Int[Tensor, "batch 1"] | None = None,
    ) -> Float[Tensor, "batch query value_size"]:
        """The context of each query; positions are by default 0, 1, ..."""
        if self.score is None:
            return source.values.expand(-1, queries.shape[1], -1)
        queries = self.score.with_positions(queries, positions)
        return self.attend(
            queries,
            source.keys,
            source.values,
            score=self.score.compare,
            may_attend=source.may_attend,
            factors=self.score.factors(queries, source.keys),
        )

    @abstractmethod
    def step(
        self, embedded: Float[Tensor, "batch width embedding"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch width features"], RecurrentState]:
        """Decode one position of every hypothesis."""

    @abstractmethod
    def unroll(
        self, embedded: Float[Tensor, "batch target embedding"], state: RecurrentState
    ) -> Float[Tensor, "batch target features"]:
        """Decode all positions of known targets (teacher forcing)."""


class BahdanauDecoder(RecurrentDecoder):
    """The context is an input of the cell (Bahdanau et al. 2015, appendix A.2.2).

    The query of c_i is the previous state: s_i = f(E y_{i-1}, c_i, s_{i-1}). The readout is one tanh layer over the new
    state, the context and the previous token; the paper's maxout (appendix A.2.2) takes pairs of twice the width and
    uses s_{i-1}. Without attention the context is a fixed vector c, which also initializes the decoder (Cho et al.
    2014, section 2.2 and appendix A).
    """

    def step(
        self, embedded: Float[Tensor, "batch width embedding"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch width features"], RecurrentState]:
        state, context = self._advance(embedded, state)
        return _read_out(self.readout, state.top, context, embedded), state

    def unroll(
        self, embedded: Float[Tensor, "batch target embedding"], state: RecurrentState
    ) -> Float[Tensor, "batch target features"]:
        if self.score is None:
            context = self.attend_source(embedded, state.source)
            tops = self.cells(torch.cat([embedded, context], dim=-1), state.cells)
            return _read_out(self.readout, tops, context, embedded)
        tops, contexts = [], []
        for position in embedded.split(1, dim=1):
            state, context = self._advance(position, state)
            tops.append(state.top)
            contexts.append(context)
        return _read_out(self.readout, torch.cat(tops, 1), torch.cat(contexts, 1), embedded)

    def _advance(self, embedded: Tensor, state: RecurrentState) -> tuple[RecurrentState, Tensor]:
        context = self.attend_source(state.top, state.source, state.ages[:, None])
        cells = self.cells.step(torch.cat([embedded, context], dim=-1), state.cells)
        return replace(state, cells=cells, ages=state.ages + 1), context


class LuongDecoder(RecurrentDecoder):
    """The query of the context is the new state: h~ = tanh(W_c [c; h]) (Luong et al. 2015, equation 5).

    With input feeding, h~ is a part of the next input (section 3.3).
    """

    def step(
        self, embedded: Float[Tensor, "batch width embedding"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch width features"], RecurrentState]:
        state = replace(state, cells=self.cells.step(torch.cat([embedded, state.attentional], dim=-1), state.cells))
        context = self.attend_source(state.top, state.source, state.ages[:, None])
        features = _read_out(self.readout, context, state.top)
        return features, replace(state, fed=Cells(([features],)) if self.fed_size else state.fed, ages=state.ages + 1)

    def unroll(
        self, embedded: Float[Tensor, "batch target embedding"], state: RecurrentState
    ) -> Float[Tensor, "batch target features"]:
        if not self.fed_size:
            tops = self.cells(embedded, state.cells)
            return _read_out(self.readout, self.attend_source(tops, state.source), tops)
        features = []
        for position in embedded.split(1, dim=1):
            fed, state = self.step(position, state)
            features.append(fed)
        return torch.cat(features, dim=1)


def _read_out(readout: nn.Module, *parts: Tensor) -> Tensor:
    """tanh(W [parts])."""
    return torch.tanh(readout(torch.cat(parts, dim=-1)))


class Recurrent(OutputProjection, Seq2Seq[RecurrentMemory, RecurrentState]):
    """Encoder and decoder; the output projection may be tied to the target embedding.

    Args:
        embedding: the target embedding.
        output: the final linear layer, or None to use the target embedding's rows.
    """

    def __init__(
        self,
        encoder: RecurrentEncoder,
        decoder: RecurrentDecoder,
        embedding: TokenEmbedding,
        output: nn.Module | None,
        *,
        dropout: float,
    ) -> None:
        super().__init__()
        self.encoder, self.decoder, self.embedding = encoder, decoder, embedding
        self.output, self.output_bias = output, None
        self.dropout = Dropout(dropout)
        self.source_padding = encoder.embedding.padding
        self.start_id = self.target_padding = embedding.padding

    def encode(
        self, source: Int[Tensor, "batch source"], source_valid: Bool[Tensor, "batch source"]
    ) -> RecurrentMemory:
        return self.encoder(source, source_valid)

    def start(self, memory: RecurrentMemory, width: int = 1) -> RecurrentState:
        # Copies for all hypotheses: they diverge, and their rows are written to.
        cells = self.decoder.bridge(memory.last).changed(lambda part: part.repeat(1, width, 1))
        batch = len(memory.source_valid)
        fed = cells.layers[-1][0].new_zeros(batch, width, self.decoder.fed_size)
        ages = torch.zeros(batch, dtype=torch.int64, device=fed.device)
        return RecurrentState(cells, Cells(([fed],)), self.decoder.view(memory), ages)

    def step(
        self, ids: Int[Tensor, "batch width"], state: RecurrentState
    ) -> tuple[Float[Tensor, "batch width features"], RecurrentState]:
        features, state = self.decoder.step(self.dropout(self.embedding(ids)), state)
        return self.dropout(features), state

    def forward(self, batch: Batch) -> Float[Tensor, "batch target features"]:
        memory = self.encoder(batch.source, batch.source_valid, lengths=batch.source_lengths)
        state = self.start(memory)
        return self.dropout(self.decoder.unroll(self.dropout(self.embedding(batch.target_in)), state))

    @property
    def target_embedding(self) -> TokenEmbedding:
        return self.embedding
