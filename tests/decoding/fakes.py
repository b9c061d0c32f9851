"""A model that is nothing but a table, and a tokenizer of single letters: what searches are held to."""

import math
from collections.abc import Iterator, Sequence
from itertools import product

import torch
from torch import Tensor

from limelight.models.interface import Seq2Seq, State, put_rows
from limelight.tokens import Tokenizers


class Rows(State):
    """A row's kind (the first id of its source) and, of each hypothesis, a number that stands for all it has read."""

    def __init__(self, kinds: Tensor, history: Tensor) -> None:
        self.kinds, self.history = kinds, history

    def reorder(self, parents: Tensor) -> "Rows":
        return Rows(self.kinds, self.history.gather(1, parents))

    def keep(self, sentences: Tensor) -> "Rows":
        return Rows(self.kinds[sentences], self.history[sentences])

    def release(self, places: Tensor) -> "Rows":
        return Rows(self.kinds.index_fill(0, places, 0), self.history.index_fill(0, places, 0))

    def admit(self, fresh: "Rows", places: Tensor) -> "Rows":
        return Rows(put_rows(self.kinds, fresh.kinds, places), put_rows(self.history, fresh.history, places))


class TableModel(Seq2Seq):
    """Logits looked up by kind and history, so that a row which was moved wrongly predicts something else."""

    def __init__(self, logits: Tensor, source_padding: int = 97) -> None:
        super().__init__()
        self.register_buffer("logits", logits)  # (kinds, histories, vocab)
        self.end_id, self.start_id = 0, logits.shape[-1]
        self.source_padding, self.target_padding = source_padding, logits.shape[-1]
        self.rows_read: list[int] = []
        self.lived: list[int] = []
        """How many hypotheses were asked for at each step of a search."""
        self.looked_up: dict[tuple[int, int], list[float]] = {}
        """Log-probabilities by kind and history."""

    def encode(self, source, source_valid):
        return Rows(source[:, 0] % len(self.logits), torch.zeros_like(source[:, :1]))

    def start(self, memory, width=1):
        return Rows(memory.kinds.clone(), memory.history.repeat(1, width))

    def step(self, ids, state):
        self.rows_read.append(ids.numel())
        history = (state.history * 5 + ids + 1) % self.logits.shape[1]
        return self.logits[state.kinds[:, None], history], Rows(state.kinds, history)

    def step_some(self, ids, state, active):
        self.lived.append(len(active.sentences))
        return super().step_some(ids, state, active)

    def project(self, features):
        return features

    def forward(self, batch):
        raise NotImplementedError


def random_model(kinds: int, vocab: int, *, spread: float = 1.5) -> TableModel:
    return TableModel(spread * torch.randn(kinds, 1009, vocab, dtype=torch.float64))


def sources(*kinds: int) -> tuple[Tensor, Tensor]:
    """A source of one id for each kind."""
    source = torch.tensor(kinds, dtype=torch.int64)[:, None]
    return source, torch.ones_like(source, dtype=torch.bool)


def limits(*lengths: int) -> Tensor:
    return torch.tensor(lengths, dtype=torch.int64)


def log_probabilities(model: TableModel, kind: int, ids: Sequence[int]) -> list[float]:
    """Of each of `ids` after those before it, by plain loops in double precision."""
    history, last, result = 0, model.start_id, []
    for piece in ids:
        history = (history * 5 + last + 1) % model.logits.shape[1]
        if (kind, history) not in model.looked_up:
            row = model.logits[kind, history].tolist()
            total = math.log(math.fsum(map(math.exp, row)))
            model.looked_up[kind, history] = [value - total for value in row]
        result.append(model.looked_up[kind, history][piece])
        last = piece
    return result


def penalised(log_probability: float, pieces: int, alpha: float, offset: float = 5.0) -> float:
    return log_probability / ((offset + pieces) / (offset + 1)) ** alpha


def all_endings(model: TableModel, kind: int, longest: int, alpha: float) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Score and tokens of every sequence of at most `longest` tokens and an end."""
    for length in range(longest + 1):
        for ids in product(range(1, model.output_size), repeat=length):
            yield penalised(math.fsum(log_probabilities(model, kind, [*ids, 0])), length + 1, alpha), ids


class Characters:
    """Ids 2, 3, ... for the letters a, b, ...; a space is an unknown token; the last id is padding."""

    size, padding = 12, 11

    def encode(self, text: str) -> list[int]:
        return [ord(letter) - 95 if "a" <= letter <= "i" else 1 for letter in text.strip()]

    def encode_sampled(self, texts: Sequence[str], *, amount: float, seed: int) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.pieces(ids))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return ["</s>" if piece == 0 else "?" if piece == 1 else chr(piece + 95) for piece in ids]

    def word_of(self, ids: Sequence[int]) -> list[int]:
        return [0] * len(ids)

    def save(self, folder) -> None:
        raise NotImplementedError


def characters() -> Tokenizers:
    both = Characters()
    return Tokenizers(both, both)
