"""The interface of models for training and search.

A memory is the output of the encoder; a state is what the decoder carries from step to step. Modules store neither: the
decoding code holds states, reorders their hypotheses and drops them.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch, make_batch
from limelight.batching.ragged import Rows
from limelight.errors import UserError
from limelight.layers.embedding import LearnedPositions
from limelight.shapes import Bool, Float, Int
from limelight.tokens.tokenizer import END

Integers = npt.NDArray[np.int64]


Own = TypeVar("Own", bound="State")
"""The type of the state itself: states are only combined with states of the same type."""


class State:
    """What the decoder carries from one step to the next: `width` hypotheses for each sentence of a batch.

    A state is a dataclass of tensors with an entry for each sentence, other states, and tuples or lists of them. Data
    of the source is stored once per sentence, whatever the width; a state with values of each hypothesis overrides
    `reorder`.

    A state is consumed by `step` and by its own methods: its tensors may be overwritten.
    """

    def reorder(self: Own, parents: Int[Tensor, "batch width"]) -> Own:
        """Hypothesis j of sentence i continues hypothesis `parents[i, j]` of the same sentence."""
        return self.changed(lambda part: part.reorder(parents) if isinstance(part, State) else part)

    def keep(self: Own, sentences: Int[Tensor, " kept"]) -> Own:
        """Keep only these sentences, with all their hypotheses, in this order."""
        return self.changed(lambda part: part.keep(sentences) if isinstance(part, State) else part[sentences])

    def admit(self: Own, fresh: Own, slots: Int[Tensor, " fresh"]) -> Own:
        """Insert the sentences of `fresh`, a state before its first step, at `slots`: free slots, or slots after the
        last. Tensors are padded with zeros to equal sizes."""

        def insert(part: Any, new: Any) -> Any:
            return part.admit(new, slots) if isinstance(part, State) else put_rows(part, new, slots)

        return self.changed(insert, fresh)

    def release(self: Own, slots: Int[Tensor, " slots"]) -> Own:
        """Mark the sentences at `slots` as finished. They stay in the batch, but their results are not used."""
        return self.changed(lambda part: part.release(slots) if isinstance(part, State) else part)

    def changed(self: Own, change: Callable[..., Any], *others: Own) -> Own:
        """A state with every tensor and state in it changed; `change` also takes the tensors of other states."""
        names = [field.name for field in fields(cast(Any, self))]
        parts = {name: _mapped(change, *(getattr(state, name) for state in (self, *others))) for name in names}
        return replace(cast(Any, self), **parts)


def _mapped(change: Callable[..., Any], *parts: Any) -> Any:
    if isinstance(parts[0], tuple | list):
        return type(parts[0])(_mapped(change, *of_part) for of_part in zip(*parts, strict=True))
    return change(*parts)


def put_rows(rows: Tensor, fresh: Tensor, slots: Int[Tensor, " fresh"]) -> Tensor:
    """Write `fresh` into these rows, which may lie beyond the last; zeros pad both to equal sizes.

    In place if the shape allows it.
    """
    pairs = zip(rows.shape[1:], fresh.shape[1:], strict=True)
    shape = [max(len(rows), int(slots.max()) + 1), *map(max, pairs)]
    rows = _padded(rows, shape)
    rows[slots] = _padded(fresh, [len(fresh), *shape[1:]])
    return rows


def _padded(values: Tensor, shape: list[int]) -> Tensor:
    """Pad with zeros at the end of each axis to `shape`."""
    if list(values.shape) == shape:
        return values
    wide = values.new_zeros(shape)
    wide[tuple(slice(length) for length in values.shape)] = values
    return wide


@dataclass(frozen=True)
class Active:
    """The active hypotheses of a batch: the first `counts[i]` of sentence i, zero for a finished sentence.

    They are numbered as rows, sentence by sentence. All arrays are NumPy arrays on the host.
    """

    counts: Integers
    """(batch,): number of active hypotheses of each sentence."""

    @cached_property
    def firsts(self) -> Integers:
        """(batch + 1,): index of the first row of each sentence, and the number of rows at the end."""
        return np.concatenate([[0], self.counts.cumsum()])

    @cached_property
    def sentences(self) -> Integers:
        """(rows,): index of the sentence of each row."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def among(self, width: int) -> Integers | None:
        """(rows,): index of each row among `width` hypotheses per sentence; None if all are active."""
        sentences = self.sentences
        if len(sentences) == len(self.counts) * width:
            return None
        return sentences * width + np.arange(len(sentences)) - self.firsts[sentences]


class Query(NamedTuple):
    """A search without phrases, forced tokens, rules or sampling: greedy if `width` is 1, else beam.

    Settings as in `SearchSettings`; `enough` finished hypotheses decide it."""

    source: Sequence[int]
    width: int
    n_best: int
    limit: int
    alpha: float
    offset: float
    enough: float
    prune: float


class Path(NamedTuple):
    """A hypothesis that a search has found."""

    ids: tuple[int, ...]
    sums: tuple[float, ...]
    """Cumulative log-probability up to each token, and up to the end token if `finished`."""
    log_probability: float
    finished: bool


MemoryT = TypeVar("MemoryT")
"""The encoder's output for a batch of sources, of any type."""
StateT = TypeVar("StateT", bound=State)


class Model(nn.Module, ABC):
    """Base class of everything that can be trained: maps a batch to features at the positions to be predicted."""

    @abstractmethod
    def forward(self, batch: Batch) -> Float[Tensor, "batch length features"]:
        """Features at every position of `batch.target_out`; a decoder reads the true tokens before it (teacher
        forcing)."""

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        """Matrix and bias of the final linear layer, for callers that compute logits themselves.

        Raises `TypeError` if the projection is not a linear layer, as in an ensemble.
        """
        raise TypeError(f"the projection of {type(self).__name__} is not a linear layer")


class Seq2Seq(Model, Generic[MemoryT, StateT]):
    """A model of p(target | source), one target token at a time.

    Two laws hold for every model (`tests/properties`): `forward` equals repeated calls of `step`, and neither padding
    nor the other rows of a batch change the result of a row.

    Attributes:
        start_id: first input of the decoder (Marian's convention: the target's padding id, a zero vector).
        end_id: `END`, which ends a sentence on both sides; searches know no other.
        source_padding, target_padding: the last id of each vocabulary.
    """

    start_id: int
    end_id = END
    source_padding: int
    target_padding: int
    searches = False
    """Whether `search` has results."""

    @property
    def output_size(self) -> int:
        """Number of classes of `project`: all target tokens except padding, which is never predicted."""
        return self.target_padding

    def batch(self, sources: Rows, targets: Rows) -> Batch:
        """Sentence pairs as a padded batch for `forward`; the rows contain no special ids."""
        batch = make_batch(sources, targets, source_padding=self.source_padding, target_padding=self.target_padding)
        batch.target_in[:, :1] = self.start_id
        return batch

    @abstractmethod
    def encode(self, source: Int[Tensor, "batch source"], source_valid: Bool[Tensor, "batch source"]) -> MemoryT:
        """Encode the sources, all positions at once."""

    @abstractmethod
    def start(self, memory: MemoryT, width: int = 1) -> StateT:
        """The state before the first step, with `width` hypotheses for each source."""

    @abstractmethod
    def step(
        self, ids: Int[Tensor, "batch width"], state: StateT
    ) -> tuple[Float[Tensor, "batch width features"], StateT]:
        """Read one token per hypothesis; return the features that predict the next token, and the new state.

        Consumes `state`, see `State`.
        """

    def step_some(
        self, ids: Int[Tensor, "batch width"], state: StateT, active: Active
    ) -> tuple[Float[Tensor, "rows features"], StateT]:
        """`step` that returns the features of active hypotheses only, sentence by sentence.

        This default computes all features and selects. Models that can skip inactive hypotheses override it.
        """
        features, state = self.step(ids, state)
        features, among = features.flatten(0, 1), active.among(ids.shape[1])
        return features if among is None else features[torch.from_numpy(among).to(ids.device)], state

    @abstractmethod
    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        """The final linear layer: features to logits, without softmax."""

    def search(self, queries: Sequence[Query]) -> list[tuple[Path, ...] | None]:
        """Run whole searches, all of the same width. Returns the best hypotheses of each, best first; None for a query
        for which the model cannot do so. A search with `step` has the same result."""
        return [None] * len(queries)


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[torch.device]:
    """A context in which the model is in evaluation mode (no dropout) without gradients; yields the model's device.

    On exit every module gets its previous mode back, also if only a part of the model was training.
    """
    training = [module for module in model.modules() if module.training]
    for module in training:  # no writes if nothing is training: this runs for every sentence
        module.training = False
    try:
        with torch.inference_mode():
            yield device_of(model)
    finally:
        for module in training:
            module.training = True


def device_of(model: nn.Module) -> torch.device:
    """The device of the model's parameters; the CPU if it has none."""
    weight = next(model.parameters(), None)
    return torch.device("cpu") if weight is None else weight.device


def longest_sequence(model: nn.Module) -> int | None:
    """The maximum number of tokens, end token included, that the model's learned positions allow.

    None if positions are unbounded. For an ensemble, the minimum over its members.
    """
    tables = [module.table for module in model.modules() if isinstance(module, LearnedPositions)]
    return min((len(table) for table in tables), default=None)


def require_room(ids: Sequence[int], longest: int, what: str) -> None:
    """Raises `UserError` if the ids and the end token are more than `longest` tokens."""
    if len(ids) + 1 > longest:
        raise UserError(
            f"{what} has {len(ids) + 1} tokens with its end, and this model takes at most {longest} "
            "(its learned positions): split it into sentences"
        )
