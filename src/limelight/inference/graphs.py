"""A Transformer whose decoding steps are CUDA graphs: recorded once for each size of their buffers, then replayed.

A step of a decoder starts hundreds of small kernels, each of which takes longer to start than to compute. A graph
starts them all at once. What a graph reads and writes stays in its place: see `inference/fixed_state.py`. Where
recording fails, the same steps are computed without, after one warning.
"""

import os
import warnings

import torch
from torch import Tensor

from limelight.batching.batch import Batch
from limelight.inference.fixed_state import FixedState, Record, Run
from limelight.models.interface import AttentionWeights, KeepHeads, Seq2Seq
from limelight.models.transformer import Transformer, TransformerMemory, TransformerState
from limelight.shapes import Bool, Float, Int

ASKED = "LIMELIGHT_CUDA_GRAPHS"
"""The variable of the environment that turns graphs on, with the value 1."""


def graphs_are_asked_for(device: torch.device) -> bool:
    """Whether the environment asks for graphs, and the device has them."""
    return os.environ.get(ASKED) == "1" and device.type == "cuda"


def record_graph(run: Run) -> Run:
    """A CUDA graph of a function, on the current device. Other threads may use the device meanwhile."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run()  # libraries prepare themselves at their first call, which cannot be recorded
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        run()
    return graph.replay


class GraphedTransformer(Seq2Seq[TransformerMemory, TransformerState | FixedState]):
    """A Transformer in evaluation mode, whose steps are recorded. All else is the model's.

    Args:
        record: makes a recording of a function; another one than `record_graph` is for tests.
    """

    def __init__(self, model: Transformer, record: Record = record_graph) -> None:
        super().__init__()
        self.model, self._record = model, record
        self.start_id, self.end_id = model.start_id, model.end_id
        self.source_padding, self.target_padding = model.source_padding, model.target_padding

    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
    ) -> TransformerMemory:
        return self.model.encode(source, source_valid, keep_heads=keep_heads)

    def start(self, memory: TransformerMemory, width: int = 1) -> TransformerState | FixedState:
        state = self.model.start(memory, width)
        return state if memory.keep_heads else FixedState(self.model, self._recorded, state, width)

    @torch.no_grad()
    def step(
        self, ids: Int[Tensor, "batch width"], state: TransformerState | FixedState
    ) -> tuple[Float[Tensor, "batch width features"], TransformerState | FixedState]:
        if isinstance(state, TransformerState):
            return self.model.step(ids, state)
        return state.step(ids), state

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        return self.model(batch, keep_heads=keep_heads)

    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        return self.model.forward_with_attention(batch, keep_heads=keep_heads)

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        return self.model.project(features)

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        return self.model.output_weights()

    def _recorded(self, run: Run) -> Run:
        """A recording, or the function itself after the first that failed."""
        try:
            return self._record(run)
        except RuntimeError as error:
            self._record = _as_it_is
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            warnings.warn(
                f"{ASKED}=1: a decoding step cannot be recorded ({reason}); decoding continues without CUDA graphs",
                RuntimeWarning,
                stacklevel=2,
            )
            return run


def _as_it_is(run: Run) -> Run:
    return run
