"""From texts to labels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from limelight.errors import UserError
from limelight.models.interface import eval_mode
from limelight.models.transformer import encoder_only
from limelight.pipelines.reader import Reader
from limelight.text.readers.live import chunks


@dataclass(frozen=True, slots=True)
class Classification:
    """A text and what a model takes it for."""

    text: str
    label: str
    """The most probable one."""
    probability: float
    probabilities: Mapping[str, float]
    """Of every label; they sum to one."""


class Classifier(Reader[encoder_only.Classifier]):
    """A classifier with all it takes to read text."""

    @property
    def labels(self) -> tuple[str, ...]:
        """All there are."""
        return self.model.labels

    def classify(self, texts: Sequence[str], *, batch_tokens: int = 16384) -> list[Classification]:
        """The label of each text, in their order; of a blank text, what the model makes of nothing at all.

        `batch_tokens` bounds a batch: texts * tokens of the longest. Raises `UserError` for a text longer than the
        model can take, naming its place.
        """
        return self._classify(texts, batch_tokens, first=1)

    def classify_stream(
        self, lines: Iterable[str | None], *, batch_tokens: int = 16384, chunk: int = 1000
    ) -> Iterator[Classification]:
        """The same for any number of lines in bounded memory, `chunk` at a time, or fewer: at a `None` among the lines,
        a pause of the input, those before it are read."""
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
