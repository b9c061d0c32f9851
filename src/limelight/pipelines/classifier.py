"""Classification of texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from limelight.errors import UserError
from limelight.models.interface import eval_mode
from limelight.models.transformer import halves
from limelight.pipelines.reader import Reader
from limelight.text.readers.lines import chunks


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
                shares[places] = logits.double().softmax(dim=1).cpu().numpy()
        return [
            Classification(
                text, self.labels[row.argmax()], float(row.max()), dict(zip(self.labels, row.tolist(), strict=True))
            )
            for text, row in zip(texts, shares, strict=True)
        ]
