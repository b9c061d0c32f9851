"""The interface of a model for training and search, and what language models share.

A memory is the output of the encoder; a state is what the decoder carries from step to step. Modules store neither: the
decoding code holds states, reorders their hypotheses and drops them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.batching.batch import Batch
from limelight.errors import UserError
from limelight.layers.embedding import LearnedPositions
from limelight.shapes import Bool, Float, Int

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

KeepHeads = Mapping[str, Tensor]
"""How much each attention head contributes, by `encoder.0.self`, `decoder.1.self`, `decoder.1.cross`: a vector of one
number per head, 1 keeps it and 0 switches it off. Attentions that are not named keep all their heads. With (2, heads)
numbers, those of the second row multiply the scores before the softmax: see `Intervention`."""


@dataclass(frozen=True, slots=True)
class Intervention:
    """A change of single heads, by the names of their attentions: how much each contributes, and how sharp it is."""

    keep_heads: Mapping[str, Float[Tensor, " heads"]] = field(default_factory=dict)
    """1 keeps a head, 0 switches it off."""
    temperature: Mapping[str, Float[Tensor, " heads"]] = field(default_factory=dict)
    """softmax(scores / temperature): below 1 the weights of a head are sharper, above 1 flatter."""

    def by_name(self) -> KeepHeads:
        """The same in the form in which models take it: `model.encode(..., keep_heads=intervention.by_name())`."""
        found: dict[str, Tensor] = {
            name: keep for name, keep in self.keep_heads.items() if name not in self.temperature
        }
        for name, temperature in self.temperature.items():
            keep = self.keep_heads.get(name, torch.ones_like(temperature))
            found[name] = torch.stack([keep, 1 / temperature])
        return found


class Memory(ABC):
    """What the encoder leaves of a batch of sources."""

    source_valid: Bool[Tensor, "batch source"]


Own = TypeVar("Own", bound="State")
"""The kind of state that is asked: it only ever meets its own kind."""


class State(ABC):
    """What the decoder carries from one step to the next: `width` hypotheses of each sentence of a batch.

    Whatever belongs to the source is there once for a sentence, however many hypotheses attend to it.

    A state is used up by what makes another of it, a step of the model as well as its own methods: its tensors may be
    overwritten.
    """

    @abstractmethod
    def reorder(self: Own, parents: Int[Tensor, "batch width"]) -> Own:
        """Hypothesis j of sentence i goes on from what its hypothesis `parents[i, j]` was."""

    @abstractmethod
    def keep(self: Own, sentences: Int[Tensor, " kept"]) -> Own:
        """These sentences alone, with all their hypotheses, in this order."""

    @abstractmethod
    def admit(self: Own, fresh: Own, places: Int[Tensor, " fresh"]) -> Own:
        """The sentences of a state before its first step take these places: free ones, or behind the last."""

    def release(self: Own, places: Int[Tensor, " places"]) -> Own:
        """The sentences there are decided: they are still carried along, but what becomes of them does not matter."""
        return self


@dataclass(frozen=True)
class Active:
    """Which hypotheses of a batch still matter: the first so many of each sentence, none of one that is decided.

    They are rows of a table, sentence by sentence. All this stands on the host, as the search does.
    """

    firsts: Integers
    """(batch + 1,): where the rows of each sentence begin, and where the last ones end."""

    @classmethod
    def of(cls, counts: Integers) -> "Active":
        """From how many of each sentence are active."""
        return cls(np.concatenate([[0], counts.cumsum()]))

    @cached_property
    def rows(self) -> int:
        """How many are active."""
        return int(self.firsts[-1])

    @cached_property
    def counts(self) -> Integers:
        """How many of each sentence are active."""
        return np.diff(self.firsts)

    @cached_property
    def sentences(self) -> Integers:
        """The sentence of each row."""
        return np.repeat(np.arange(len(self.firsts) - 1), self.counts)

    def among(self, width: int) -> Integers | None:
        """Where each row stands among `width` hypotheses of every sentence; None where all are active."""
        if self.rows == (len(self.firsts) - 1) * width:
            return None
        sentences = self.sentences
        return sentences * width + np.arange(len(sentences)) - self.firsts[sentences]


class Best(NamedTuple):
    """The best continuations of each sentence, over all its hypotheses, best first, ties in any order; on the host. If
    there are fewer, the rest have a sum of -inf."""

    sums: Numbers
    """(batch, rank): the log-probability of the hypothesis and of the token together."""
    log_probabilities: Numbers
    """(batch, rank): of the token alone, given the hypothesis."""
    parents: Integers
    """(batch, rank): the index of the hypothesis that is continued."""
    ids: Integers
    """(batch, rank): the id of the new token."""


class MostProbable(NamedTuple):
    """The most probable token of each row, among equal ones the first; on the host."""

    ids: Integers
    """(rows,)"""
    log_probabilities: Numbers
    """(rows,)"""


class Ranking(ABC):
    """The log-probabilities of all tokens after each active hypothesis, which nobody has written down: the best are
    found without a table, and the rows of the table are made when they are asked for."""

    @property
    @abstractmethod
    def is_sound(self) -> bool:
        """Whether no row has a NaN. Else its tables show which row has."""

    @abstractmethod
    def best(self, before: Numbers, firsts: Integers, count: int) -> Best:
        """The `count` continuations of each sentence with the largest sums.

        Args:
            before: (rows,): the log-probability of each hypothesis; sums are made in single precision.
            firsts: (batch + 1,): where the rows of each sentence begin, see `Active`.
        """

    @abstractmethod
    def most_probable(self) -> MostProbable:
        """The most probable tokens of a ranking that is sound."""

    @abstractmethod
    def __getitem__(self, rows: slice) -> Float[Tensor, "some vocab"]:
        """The log-probabilities of these rows, with the same bits as those of the best."""


class Query(NamedTuple):
    """A search without rules, forced tokens or samples: greedy with a width of 1, else a beam. See `SearchSettings`."""

    source: Sequence[int]
    width: int
    limit: int
    alpha: float
    offset: float
    patience: float
    prune: float
    kinds: npt.NDArray[np.uint8]
    """(target ids,): 1 for a byte that cannot begin a character, 2 for one of a character of several bytes, 3 for both,
    0 for other tokens. Where such bytes occur, the search is left to others."""


class Path(NamedTuple):
    """The best hypothesis of a search."""

    ids: tuple[int, ...]
    sums: tuple[float, ...]
    """The log-probability up to each token, and to the end if it is `finished`."""
    log_probability: float
    finished: bool


@dataclass(frozen=True, slots=True)
class AttentionWeights:
    """Every weight a model attended with, a tensor per layer; empty where a model has no such attention."""

    encoder_self: tuple[Float[Tensor, "batch heads source source"], ...] = ()
    decoder_self: tuple[Float[Tensor, "batch heads target target"], ...] = ()
    cross: tuple[Float[Tensor, "batch heads target source"], ...] = ()


MemoryT = TypeVar("MemoryT", bound=Memory)
StateT = TypeVar("StateT", bound=State)


class Model(nn.Module, ABC):
    """What can be trained: features for the places of a batch where something is to be predicted."""

    @abstractmethod
    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch length features"]:
        """Features at every place of `batch.target_out`."""

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        """Matrix and bias of the final linear layer, for who computes it in a way of their own.

        Raises `TypeError` for a model whose projection is no linear layer, as that of an ensemble is not.
        """
        raise TypeError(f"the projection of {type(self).__name__} is no linear layer")


class Seq2Seq(Model, Generic[MemoryT, StateT]):
    """A model of p(target | source), one target token at a time.

    Two laws hold for each (`tests/properties`): `forward` equals `step` after `step`, and neither padding nor the other
    rows of a batch change a row's result.

    Attributes:
        start_id: what the decoder reads first (Marian's convention: the target's padding id, a zero vector).
        end_id: what ends a sentence on both sides.
        source_padding, target_padding: the last id of each vocabulary.
    """

    start_id: int
    end_id: int
    source_padding: int
    target_padding: int

    @property
    def output_size(self) -> int:
        """Classes `project` scores: every target token but padding, which can never be predicted."""
        return self.target_padding

    @abstractmethod
    def encode(
        self,
        source: Int[Tensor, "batch source"],
        source_valid: Bool[Tensor, "batch source"],
        *,
        keep_heads: KeepHeads | None = None,
    ) -> MemoryT:
        """Read the sources, all positions at once."""

    @abstractmethod
    def start(self, memory: MemoryT, width: int = 1) -> StateT:
        """The state before the first step: `width` hypotheses for each source row."""

    @abstractmethod
    def step(
        self, ids: Int[Tensor, "batch width"], state: StateT
    ) -> tuple[Float[Tensor, "batch width features"], StateT]:
        """Read one token per hypothesis; return the features that predict the next, and the state after it. The state
        before is used up, see `State`."""

    def step_some(
        self, ids: Int[Tensor, "batch width"], state: StateT, active: Active
    ) -> tuple[Float[Tensor, "rows features"], StateT]:
        """`step` for the active hypotheses: their features alone, sentence by sentence.

        Models that need not compute the others override it; here they are computed as well.
        """
        features, state = self.step(ids, state)
        features, among = features.flatten(0, 1), active.among(ids.shape[1])
        return features if among is None else features[torch.from_numpy(among).to(ids.device)], state

    @abstractmethod
    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        """Features at all target positions at once, given the true tokens before each (teacher forcing)."""

    @abstractmethod
    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        """The same features, and all attention weights: the readable path, quadratic in memory."""

    @abstractmethod
    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        """The final linear layer: features to logits. Softmax is left to who asks, as many do not need all of it."""

    def rank(self, features: Float[Tensor, "rows features"]) -> Ranking | None:
        """The log-probabilities of all tokens, for a search that needs the best of them; None for a model that writes
        all of them down: `project`."""
        return None

    @property
    def searches_alone(self) -> bool:
        """Whether a beam of few hypotheses is found at least as fast alone, by `search`, as in a batch."""
        return False

    def search(self, query: Query) -> Path | None:
        """The result of a whole search for one source; None where the model cannot search, or leaves this query to the
        searches that call it step by step. They would find the same."""
        return None


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[torch.device]:
    """Within it the model is in evaluation mode (no dropout) and keeps no gradients; yields the model's device.

    Afterwards every module has the mode it had, also where only a part of the model was training.
    """
    training = [module for module in model.modules() if module.training]
    for module in training:  # one by one: of a model that is not training nothing is written, at each sentence
        module.training = False
    try:
        with torch.inference_mode():
            yield device_of(model)
    finally:
        for module in training:
            module.training = True


def device_of(model: nn.Module) -> torch.device:
    """Where a model is; one without parameters is on the CPU."""
    weight = next(model.parameters(), None)
    return torch.device("cpu") if weight is None else weight.device


def longest_sequence(model: nn.Module) -> int | None:
    """How many places the model has learned a vector for: more tokens than that, end included, it cannot take.

    None where positions have no bound. The smallest bound of all counts, also among the members of an ensemble.
    """
    if model not in _POSITIONS:
        tables = [module.table for module in model.modules() if isinstance(module, LearnedPositions)]
        _POSITIONS[model] = min((len(table) for table in tables), default=None)
    return _POSITIONS[model]


_POSITIONS: WeakKeyDictionary[nn.Module, int | None] = WeakKeyDictionary()
"""Of each model: to walk through all of its modules takes a twentieth of the time of a short sentence."""


def require_room(ids: Sequence[int], longest: int, what: str) -> None:
    """Raises `UserError` where ids and their end are more than `longest`."""
    if len(ids) + 1 > longest:
        raise UserError(
            f"{what} has {len(ids) + 1} tokens with its end, and this model takes at most {longest} "
            "(its learned positions): split it into sentences"
        )


class LanguageModel(Seq2Seq[MemoryT, StateT]):
    """A model of p(text), a token at a time; its source is the prompt, of any length, none at all included.

    There is one vocabulary, positions count source and target together, and what separates texts, the end, is also what
    the first token of a text is predicted from. Trained on pairs it is a translator without an encoder (Liu et al.
    2018, section 4.2.3): the target goes on where the source ends.

    Args:
        output: the final linear layer of its own, or None where it is the embedding's.
        padding: the last id of the vocabulary.
    """

    def __init__(self, output: nn.Module | None, *, padding: int, end_id: int) -> None:
        super().__init__()
        self.output = output
        self.start_id = self.end_id = end_id
        self.source_padding = self.target_padding = padding

    @abstractmethod
    def read(
        self, ids: Int[Tensor, "batch length"], *, keep_heads: KeepHeads | None = None, want_weights: bool = False
    ) -> tuple[Float[Tensor, "batch length features"], list[Tensor]]:
        """Features of every position of texts from their beginning on, and the weights of each layer if wanted."""

    def forward(self, batch: Batch, *, keep_heads: KeepHeads | None = None) -> Float[Tensor, "batch target features"]:
        features, _ = self.read(_one_text(batch), keep_heads=keep_heads)
        return _of_target(features, batch)

    def forward_with_attention(
        self, batch: Batch, *, keep_heads: KeepHeads | None = None
    ) -> tuple[Float[Tensor, "batch target features"], AttentionWeights]:
        """The same features; `decoder_self` is between all positions of source and target, which are one text."""
        features, weights = self.read(_one_text(batch), keep_heads=keep_heads, want_weights=True)
        return _of_target(features, batch), AttentionWeights(decoder_self=tuple(weights))

    def project(self, features: Float[Tensor, "... features"]) -> Float[Tensor, "... vocab"]:
        return functional.linear(features, *self.output_weights()) if self.output is None else self.output(features)


def _one_text(batch: Batch) -> Int[Tensor, "batch length"]:
    """The target right behind its source, and what pads the source behind both."""
    if not batch.source.shape[1]:
        return batch.target_in
    ids = torch.cat([batch.source, batch.target_in], dim=1)
    return ids.gather(1, _source_padding(batch).to(torch.uint8).argsort(dim=1, stable=True))


def _of_target(
    features: Float[Tensor, "batch length features"], batch: Batch
) -> Float[Tensor, "batch target features"]:
    """The features of the target's positions alone."""
    if not batch.source.shape[1]:
        return features
    places = torch.arange(batch.target_in.shape[1], device=features.device) + batch.source_valid.sum(1, keepdim=True)
    return features.gather(1, places[:, :, None].expand(-1, -1, features.shape[2]))


def _source_padding(batch: Batch) -> Bool[Tensor, "batch length"]:
    """Which places of source and target, side by side, are padding between them."""
    return torch.cat([~batch.source_valid, torch.zeros_like(batch.target_in, dtype=torch.bool)], dim=1)
