"""Mask filling: the most probable tokens at each mask, and the completed text."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from limelight.batching.batch import begun
from limelight.errors import UserError
from limelight.models.interface import eval_mode, longest_sequence, require_room
from limelight.models.transformer.halves import MaskedModel
from limelight.pipelines.classifier import Reader
from limelight.tokens import END, MASK, Tokenizer
from limelight.tokens.text import line_end, ordinary_pieces, reserved_id
from limelight.tokens.tokenizer import SPACE


@dataclass(frozen=True, slots=True)
class Guess:
    """A predicted token for a mask."""

    text: str
    """The text of the token, without the space before it."""
    probability: float
    """The probability of the token at this position, among all tokens of the vocabulary."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A text with masks, completed, and the predictions."""

    source: str
    text: str
    """The text with the best prediction at each mask, normalized by the tokenizer."""
    masks: tuple[tuple[Guess, ...], ...]
    """The predictions for each mask, best first."""


class MaskFiller(Reader[MaskedModel]):
    """A masked model with its tokenizer. Raises `UserError` if the vocabulary has no mask token."""

    def __init__(self, model: MaskedModel, tokenizer: Tokenizer) -> None:
        super().__init__(model, tokenizer)
        self.mask = reserved_id(tokenizer, MASK)
        pieces = tokenizer.pieces(range(tokenizer.padding))
        ordinary = np.zeros(tokenizer.padding, dtype=bool)
        ordinary[ordinary_pieces(tokenizer)] = True
        self._spells_spaces = line_end(tokenizer) is None
        begins = np.array([piece.startswith(SPACE) for piece in pieces])
        bare = np.array([piece == SPACE for piece in pieces])
        self._bare_space = set() if self._spells_spaces else set(np.flatnonzero(bare).tolist())
        self._within = ordinary if self._spells_spaces else _some(ordinary & ~begins, ordinary)
        self._beginning = _some(ordinary & begins & ~bare, ordinary)

    def fill(self, text: str, *, top: int = 5) -> Filled:
        """Predict the token at each `[MASK]` of a text, all at once and independently.

        A mask is one token. After a space, or at the beginning, it is one that begins a word; else one that continues a
        word. Raises `UserError` for a text without a mask, for one too long, and
        for a `top` below 1.
        """
        if top < 1:
            raise UserError(f"top={top}: must be at least 1")
        ids, begins = self._masked(text)
        if not begins:
            raise UserError(f"there is no {MASK} in this text: write it in place of the token to predict")
        longest = longest_sequence(self.model)
        row = begun(ids)
        if longest is not None:
            require_room(row, longest, "this text")
        places = [place for place, number in enumerate(ids) if number == self.mask]
        guesses = []
        for place, shares, begins_word in zip(places, self._shares([*row, END], places), begins, strict=True):
            best = self._best(shares, self._beginning if begins_word else self._within, top)
            guesses.append(tuple(Guess(self._readable(number), float(shares[number])) for number in best))
            ids[place] = best[0]
        return Filled(text, self.tokenizer.decode(ids), tuple(guesses))

    def _masked(self, text: str) -> tuple[list[int], list[bool]]:
        """The tokens of a text, and of each mask whether a word begins there.

        A tokenizer cuts the space off a mask, which in training stood for a token with its space: a bare space before
        a mask is taken away.
        """
        ids: list[int] = []
        begins: list[bool] = []
        for number in self.tokenizer.encode(text):
            if number == self.mask:
                if ids and ids[-1] in self._bare_space:
                    ids.pop()
                    begins.append(True)
                else:
                    begins.append(not ids and not self._spells_spaces)
            ids.append(number)
        return ids, begins

    def _shares(self, row: Sequence[int], places: Sequence[int]) -> np.ndarray:
        """(masks, vocab) probabilities at these places of the text; in the row an end stands before it."""
        with eval_mode(self.model) as device:
            ids = torch.tensor([row], device=device)
            features = self.model.read(ids, torch.ones_like(ids, dtype=torch.bool))
            logits = self.model.project(features[0, [place + 1 for place in places]])
            found: np.ndarray = logits.cpu().double().softmax(dim=1).numpy()
        return found

    def _best(self, shares: np.ndarray, allowed: np.ndarray, top: int) -> list[int]:
        order = np.argsort(-np.where(allowed, shares, -1.0), kind="stable")
        best: list[int] = order[: min(top, int(allowed.sum()))].tolist()
        return best

    def _readable(self, number: int) -> str:
        piece = self.tokenizer.pieces([number])[0]
        return piece.removeprefix(SPACE) or piece


def _some(wanted: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """(tokens,): whether each may be predicted; a small vocabulary may have no token of the wanted kind."""
    return wanted if wanted.any() else otherwise
