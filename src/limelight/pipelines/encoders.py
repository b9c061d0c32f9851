"""Texts read by an encoder: sentence vectors, classification of texts, and filling of masks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import numpy as np
import torch

from limelight.batching.batch import Batch, begun, cut_batches, label_batch
from limelight.errors import UserError
from limelight.formats.lines import chunks
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.maps import reader_map
from limelight.models.interface import eval_mode, longest_sequence, require_room
from limelight.models.transformer import halves
from limelight.models.transformer.halves import EncoderOnly, MaskedModel, pool
from limelight.pipelines.job import BLANK
from limelight.storage.model import StoredModel
from limelight.tokens import END, MASK, Tokenizer
from limelight.tokens.text import line_end, ordinary_pieces
from limelight.tokens.tokenizer import SPACE

BATCH_TOKENS = 16384
"""Maximum size of a batch: texts * tokens of the longest."""
CHUNK = 1000
"""Lines of a stream that are read at a time."""

ModelT = TypeVar("ModelT", bound=EncoderOnly)


class Reader(Generic[ModelT]):
    """An encoder-only model with its tokenizer. Methods restore the training mode of the model."""

    def __init__(self, model: ModelT, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer, self._longest = model, tokenizer, longest_sequence(model)

    def vectors(self, texts: Sequence[str]) -> np.ndarray:
        """(texts, model) float32: a vector for each text, blank ones included: the mean over all its positions.

        Raises `UserError` for a text longer than the model permits, with its number.
        """
        vectors = np.zeros((len(texts), self.model.encoder.embedding.weight.shape[1]), dtype=np.float32)
        with eval_mode(self.model) as device:
            for indices, batch in self._batches(texts, BATCH_TOKENS, first=1):
                ids, valid = batch.source.to(device), batch.source_valid.to(device)
                vectors[indices] = pool(self.model.read(ids, valid), valid, "mean").float().cpu().numpy()
        return vectors

    def attention(self, text: str) -> AttentionMap:
        """The attention map of `text`: `encoder_self`, from each token to each.

        Raises `UserError` for a blank text, and for one longer than the model permits.
        """
        if not text.strip():
            raise UserError(BLANK)
        self._row(self.tokenizer.encode(text), "this text")
        return reader_map(self.model, self.tokenizer, text)

    def _row(self, ids: Sequence[int], name: str) -> list[int]:
        """What the model reads of a text, without its end. Raises `UserError` for one that is too long."""
        row = begun(ids)
        if self._longest is not None:
            require_room(row, self._longest, name)
        return row

    def _batches(self, texts: Sequence[str], batch_tokens: int, first: int) -> Iterator[tuple[np.ndarray, Batch]]:
        """Batches of texts of similar length: their indices, and a batch with one prediction for each text.

        Raises `UserError` for a text that is too long, before any is computed; `first` is the number of the first text,
        for messages.
        """
        if batch_tokens < 1:
            raise UserError(f"batch_tokens must be at least 1, not {batch_tokens}")
        if isinstance(texts, str):
            raise UserError(f"texts is {texts!r:.60}: give a list of texts")
        encoded = enumerate(map(self.tokenizer.encode, texts), start=first)
        rows = [self._row(ids, f"text {number}") for number, ids in encoded]
        lengths = np.array([len(row) + 1 for row in rows], dtype=np.int64)
        for indices in cut_batches(lengths, lengths, tokens=batch_tokens, generator=np.random.default_rng(0)):
            chosen = [rows[index] for index in indices]
            yield indices, label_batch(chosen, [0] * len(chosen), padding=self.tokenizer.padding)


@dataclass(frozen=True, slots=True)
class Classification:
    """The classification of a text."""

    text: str
    label: str
    """The most probable label."""
    probability: float
    probabilities: Mapping[str, float]
    """Label -> probability, for all labels; they sum to one."""


class Classifier(Reader[halves.Classifier]):
    """A classifier with its tokenizer."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels of the model."""
        return self.model.labels

    def classify(
        self, texts: Sequence[str], *, batch_tokens: int = BATCH_TOKENS, first: int = 1
    ) -> list[Classification]:
        """Classify texts, in order; a blank text is classified as an empty sequence.

        `batch_tokens` is the maximum size of a batch: texts * tokens of the longest. Raises `UserError` for a text
        longer than the model permits, with its number, counted from `first`.
        """
        shares = np.zeros((len(texts), len(self.labels)), dtype=np.float64)
        with eval_mode(self.model) as device:
            for indices, batch in self._batches(texts, batch_tokens, first):
                logits = self.model.project(self.model(batch.to(device)))[:, 0]
                shares[indices] = logits.cpu().double().softmax(dim=1).numpy()
        return [
            Classification(
                text, self.labels[row.argmax()], float(row.max()), dict(zip(self.labels, row.tolist(), strict=True))
            )
            for text, row in zip(texts, shares, strict=True)
        ]

    def classify_stream(
        self, lines: Iterable[str | None], *, batch_tokens: int = BATCH_TOKENS
    ) -> Iterator[Classification]:
        """Classify any number of lines in bounded memory, `CHUNK` at a time. `None` marks a pause of the input: the
        lines before it are classified immediately."""
        first = 1
        for chunk in chunks([lines] if isinstance(lines, str) else lines, CHUNK):
            yield from self.classify(chunk, batch_tokens=batch_tokens, first=first)
            first += len(chunk)


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
        self.mask = tokenizer.reserved_id(MASK)
        pieces = tokenizer.pieces(range(tokenizer.padding))
        ordinary = np.zeros(tokenizer.padding, dtype=bool)
        ordinary[ordinary_pieces(tokenizer)] = True
        begins = np.array([piece.startswith(SPACE) for piece in pieces])
        bare = np.array([piece == SPACE for piece in pieces])
        spells_spaces = line_end(tokenizer) is None
        self._bare_space = set() if spells_spaces else set(np.flatnonzero(bare).tolist())
        self._at_beginning = not spells_spaces
        """Whether a mask at the beginning of a text begins a word."""
        inner = ordinary if spells_spaces else ordinary & ~begins
        # A small vocabulary may lack tokens of this kind.
        self._allowed = [allowed if allowed.any() else ordinary for allowed in (inner, ordinary & begins & ~bare)]
        """The tokens that continue a word, and the tokens that begin one."""

    def fill(self, text: str, *, top: int = 5) -> Filled:
        """Predict the token at each `[MASK]` of a text, all at once and independently.

        A mask is one token. After a space, or at the beginning, it is one that begins a word; else one that continues a
        word. Raises `UserError` for a text without a mask, for one too long, and for a `top` below 1.
        """
        if top < 1:
            raise UserError(f"top={top}: must be at least 1")
        ids, begins = self._masked(text)
        if not begins:
            raise UserError(f"there is no {MASK} in this text: write it in place of the token to predict")
        row, guesses = [*self._row(ids, "this text"), END], list[tuple[Guess, ...]]()
        positions = [position for position, number in enumerate(ids) if number == self.mask]
        with eval_mode(self.model) as device:
            read = torch.tensor([row], device=device)
            features = self.model.read(read, torch.ones_like(read, dtype=torch.bool))
            logits = self.model.project(
                features[0, [position + 1 for position in positions]]
            )  # after the end at the beginning
            shares = logits.cpu().double().softmax(dim=1).numpy()
        for position, probabilities, begins_word in zip(positions, shares, begins, strict=True):
            allowed = self._allowed[begins_word]
            order = np.argsort(-np.where(allowed, probabilities, -1.0), kind="stable")
            best = order[: min(top, int(allowed.sum()))].tolist()
            shown = [piece.removeprefix(SPACE) or piece for piece in self.tokenizer.pieces(best)]
            guesses.append(tuple(map(Guess, shown, probabilities[best].tolist())))
            ids[position] = best[0]
        return Filled(text, self.tokenizer.decode(ids), tuple(guesses))

    def _masked(self, text: str) -> tuple[list[int], list[bool]]:
        """The tokens of a text, and of each mask whether a word begins there.

        A tokenizer cuts the space off a mask, which in training stood for a token with its space: a bare space before
        a mask is taken away.
        """
        ids, begins = list[int](), list[bool]()
        for number in self.tokenizer.encode(text):
            if number == self.mask:
                spaced = bool(ids) and ids[-1] in self._bare_space
                begins.append(spaced or (not ids and self._at_beginning))
                ids = ids[:-1] if spaced else ids
            ids.append(number)
        return ids, begins


def make_reader(stored: Sequence[StoredModel]) -> Classifier | MaskFiller:
    """The classifier or the mask filler of a stored model."""
    [reader] = stored
    model, tokenizer = reader.model, reader.tokenizers.source
    if isinstance(model, MaskedModel):
        return MaskFiller(model, tokenizer)
    return Classifier(cast(halves.Classifier, model), tokenizer)
