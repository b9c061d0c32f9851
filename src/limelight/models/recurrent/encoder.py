"""The recurrent encoder: a source sentence as one vector per position and one for the whole."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from limelight.layers.embedding import TokenEmbedding
from limelight.layers.feed_forward import Dropout
from limelight.models.interface import KeepHeads, Memory
from limelight.models.recurrent.cells import kind_of
from limelight.shapes import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class RecurrentMemory(Memory):
    """What the encoder leaves of the sources.

    Attributes:
        annotations: a vector for each source position ("annotations" h_j in Bahdanau et al. 2015).
        last: the last state of the top layer, both directions side by side: what has read the whole sentence. The
            LSTM's cell comes second.
    """

    annotations: Float[Tensor, "batch source value_size"]
    last: tuple[Float[Tensor, "batch summary"], ...]
    source_valid: Bool[Tensor, "batch source"]
    keep_heads: KeepHeads | None = None


class RecurrentEncoder(nn.Module):
    """Reads the source left to right, or both ways (Schuster & Paliwal 1997; Bahdanau et al. 2015, section 3.2).

    Sentences are packed: the backward direction begins at a sentence's own end, never in its padding.

    Args:
        layers: the cells, as `build_layers` makes them.
        narrow: brings the annotations to another width, or None to leave both directions side by side.
    """

    def __init__(
        self, embedding: TokenEmbedding, layers: nn.RNNBase, narrow: nn.Module | None, *, dropout: float
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(dropout)
        self.directions = 2 if layers.bidirectional else 1
        self.state_parts = kind_of(layers).state_parts
        self.layers, self.narrow = layers, narrow

    def forward(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
    ) -> RecurrentMemory:
        """Annotations of all positions (zeros in the padding) and the last state."""
        packed = pack_padded_sequence(
            self.dropout(self.embedding(source)), source_valid.sum(1).cpu(), batch_first=True, enforce_sorted=False
        )
        outputs, final = self.layers(packed)
        annotations, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        annotations = self.dropout(annotations)
        if self.narrow is not None:
            annotations = self.narrow(annotations)
        # (layers * directions, batch, hidden) -> the top layer's (batch, directions * hidden)
        parts = final if self.state_parts > 1 else (final,)
        last = tuple(torch.cat(tuple(part[-self.directions :]), dim=-1) for part in parts)
        return RecurrentMemory(annotations, last, source_valid, keep_heads)
