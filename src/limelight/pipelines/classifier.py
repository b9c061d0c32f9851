"""Classification of texts, and the base class of pipelines with an encoder-only model: batches of texts, and sentence
vectors.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from limelight.batching.batch import Batch, begun, cut_batches, label_batch
from limelight.errors import UserError
from limelight.formats.lines import chunks
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.maps import reader_map
from limelight.models.interface import eval_mode, longest_sequence, require_room
from limelight.models.transformer import halves
from limelight.models.transformer.halves import EncoderOnly, Pooling, pool
from limelight.tokens import Tokenizer

ModelT = TypeVar("ModelT", bound=EncoderOnly)


class Reader(Generic[ModelT]):
    """An encoder-only model with its tokenizer. Methods restore the training mode of the model."""

    def __init__(self, model: ModelT, tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer

    def vectors(self, texts: Sequence[str], *, pooling: Pooling = "mean", batch_tokens: int = 16384) -> np.ndarray:
        """(texts, model) float32: a vector for each text, blank ones included.

        Args:
            pooling: `mean` over all positions, or `first`, the end token at the beginning of a row. A masked model is
                not trained to predict at that position, so `mean` is better for models other than classifiers.
            batch_tokens: maximum size of a batch: texts * tokens of the longest.

        Raises `UserError` for another pooling, and for a text longer than the model permits, with its index.
        """
        if pooling not in ("mean", "first"):
            raise UserError(f"pooling={pooling!r}: there are mean and first")
        found = np.zeros((len(texts), self.model.encoder.embedding.weight.shape[1]), dtype=np.float32)
        with eval_mode(self.model) as device:
            for places, batch in self._batches(texts, batch_tokens, first=1):
                ids, valid = batch.source.to(device), batch.source_valid.to(device)
                features = self.model.read(ids, valid)
                found[places] = pool(features, valid, pooling).float().cpu().numpy()
        return found

    def attention(self, text: str) -> AttentionMap:
        """The attention map of `text`: `encoder_self`, from each token to each.

        Raises `UserError` for a blank text, and for one longer than the model permits.
        """
        if not text.strip():
            raise UserError("the text is blank: there is nothing to attend to; give a sentence")
        longest = longest_sequence(self.model)
        if longest is not None:
            require_room(begun(self.tokenizer.encode(text)), longest, "this text")
        return reader_map(self.model, self.tokenizer, text)

    def _batches(self, texts: Sequence[str], batch_tokens: int, first: int) -> Iterator[tuple[np.ndarray, Batch]]:
        """Batches of texts of similar length: their indices, and a batch with one prediction for each text.

        Raises `UserError` for a text that is too long, before any is computed; `first` is the number of the first text,
        for messages.
        """
        if batch_tokens < 1:
            raise UserError(f"batch_tokens must be at least 1, not {batch_tokens}")
        rows = [begun(row) for row in self.tokenizer.encode_batch(texts)]
        longest = longest_sequence(self.model)
        if longest is not None:
            for place, row in enumerate(rows, start=first):
                require_room(row, longest, f"text {place}")
        lengths = np.array([len(row) + 1 for row in rows], dtype=np.int64)
        for places in cut_batches(lengths, lengths, tokens=batch_tokens, generator=np.random.default_rng(0)):
            chosen = [rows[place] for place in places]
            yield places, label_batch(chosen, [0] * len(chosen), padding=self.tokenizer.padding)


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

    def classify(self, texts: Sequence[str], *, batch_tokens: int = 16384) -> list[Classification]:
        """Classify texts, in order; a blank text is classified as an empty sequence.

        `batch_tokens` is the maximum size of a batch: texts * tokens of the longest. Raises `UserError` for a text
        longer than the model permits, with its number.
        """
        return self._classify(texts, batch_tokens, first=1)

    def classify_stream(
        self, lines: Iterable[str | None], *, batch_tokens: int = 16384, chunk: int = 1000
    ) -> Iterator[Classification]:
        """Classify any number of lines in bounded memory, `chunk` at a time. `None` marks a pause of the input: the
        lines before it are classified immediately."""
        if chunk < 1:
            raise UserError(f"chunk must be at least 1 line, not {chunk}")
        first = 1
        for some in chunks(lines, chunk):
            yield from self._classify(some, batch_tokens, first)
            first += len(some)

    def _classify(self, texts: Sequence[str], batch_tokens: int, first: int) -> list[Classification]:
        shares = np.zeros((len(texts), len(self.labels)), dtype=np.float64)
        with eval_mode(self.model) as device:
            for places, batch in self._batches(texts, batch_tokens, first):
                logits = self.model.project(self.model(batch.to(device)))[:, 0]
                shares[places] = logits.cpu().double().softmax(dim=1).numpy()
        return [
            Classification(
                text, self.labels[row.argmax()], float(row.max()), dict(zip(self.labels, row.tolist(), strict=True))
            )
            for text, row in zip(texts, shares, strict=True)
        ]
