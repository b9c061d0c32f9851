"""Recurrent language model (Mikolov et al. 2010)."""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from limelight.layers.embedding import TokenEmbedding, projection_weight
from limelight.layers.feed_forward import Dropout
from limelight.models.cache import Cells
from limelight.models.interface import LanguageModel, Memory
from limelight.models.recurrent.cells import Carried, CellStack
from limelight.shapes import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class ReadPrompt(Memory):
    """The states of all layers after the prompt."""

    cells: Cells
    source_valid: Bool[Tensor, "batch source"]


class RecurrentLanguageModel(LanguageModel[ReadPrompt, Cells]):
    """Embedding, recurrent layers, and a linear output layer, which may be tied to the embedding.

    Dropout applies to non-recurrent connections only (Zaremba et al. 2014).

    Args:
        narrow: projects the state to the width of a tied embedding; None if the widths are equal.
        output: the final linear layer, or None to use the embedding's rows.
    """

    def __init__(
        self,
        embedding: TokenEmbedding,
        cells: CellStack,
        narrow: nn.Module | None,
        output: nn.Module | None,
        *,
        dropout: float,
        end_id: int,
    ) -> None:
        super().__init__(output, padding=embedding.padding, end_id=end_id)
        self.embedding, self.cells, self.narrow = embedding, cells, narrow
        self.dropout = Dropout(dropout)

    def read_on(
        self, ids: Int[Tensor, "batch target"], carried: Carried | None
    ) -> tuple[Float[Tensor, "batch target features"], Carried]:
        """Features at all positions, starting from `carried` (None: the initial state), and the final state.

        Gradients flow back into `carried`: detach it for truncated backpropagation.
        """
        tops, carried = self.cells.read_on(self.dropout(self.embedding(ids)), carried)
        return self._features(tops), carried

    def read(self, ids: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length features"]:
        return self.read_on(ids, None)[0]

    def encode(self, source: Int[Tensor, "batch source"], source_valid: Bool[Tensor, "batch source"]) -> ReadPrompt:
        lengths = source_valid.sum(dim=1)
        if not source.shape[1]:
            return ReadPrompt(self.cells.zeros(len(source)), source_valid)
        packed = pack_padded_sequence(
            self.dropout(self.embedding(source)), lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        _, after = self.cells.read_on(packed, None)
        begun = (lengths > 0)[:, None, None]  # empty sequences cannot be packed
        # (layers, batch, hidden) of each part -> (batch, 1, hidden) of each part of a layer
        layers = zip(*(part[:, :, None] for part in after), strict=True)
        return ReadPrompt(Cells(tuple([part * begun for part in layer] for layer in layers)), source_valid)

    def start(self, memory: ReadPrompt, width: int = 1) -> Cells:
        return memory.cells.repeated(width)

    def step(
        self, ids: Int[Tensor, "batch width"], state: Cells
    ) -> tuple[Float[Tensor, "batch width features"], Cells]:
        state = self.cells.step(self.dropout(self.embedding(ids)), state)
        return self._features(state.layers[-1][0]), state

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        return projection_weight(self.output, self.embedding), None

    def _features(self, tops: Float[Tensor, "batch length hidden"]) -> Float[Tensor, "batch length features"]:
        thinned = self.dropout(tops)
        return thinned if self.narrow is None else self.narrow(thinned)
