"""The classification task: texts with one label each."""

import numpy as np
import torch
from torch.nn import functional

from limelight.batching.batch import Batch, begun, cut_batches, label_batch
from limelight.batching.drawing import Drawing, View
from limelight.batching.stream import LabelStream
from limelight.config import RunConfig
from limelight.evaluation.labels import score_labels
from limelight.models.interface import Model, eval_mode, longest_sequence, require_room
from limelight.models.transformer.halves import Classifier
from limelight.preparation.plain_text import PreparedLabels
from limelight.text.labels import label_numbers
from limelight.training.distributed import ALL_MINE, Sharing
from limelight.training.optimization.precision import autocast
from limelight.training.tasks.task import Task, Validation, require_positions


class Labels(Task):
    """Learns p(label | text).

    Raises `UserError` if texts may be longer than the model permits.
    """

    def __init__(self, config: RunConfig, prepared: PreparedLabels, model: Classifier) -> None:
        longest = longest_sequence(model)
        require_positions(config, longest)
        self.labels, self.pairs = prepared.labels, prepared.valid
        self.amount = f"{sum(map(len, prepared.stores)):,} texts with {len(prepared.labels):,} labels"
        self.stream = LabelStream(
            [View(store, corpus.weight) for corpus, store in zip(config.data.train, prepared.stores, strict=True)],
            prepared.tokenizers,
            tokens=config.batching.tokens,
            seed=config.training.seed,
            drawing=Drawing(config.tokens.sampling, max_length=config.batching.max_length),
            chunk_pairs=config.batching.chunk_pairs,
        )
        self.valid_batches = validation_batches(prepared, tokens=config.batching.tokens, longest=longest)

    @property
    def validates(self) -> bool:
        return bool(self.pairs)

    def validate(
        self, model: Model, *, precision: str, device: torch.device, sharing: Sharing = ALL_MINE
    ) -> Validation:
        """The mean loss per label, accuracy and macro-F1 of the most probable labels, and an example."""
        assert isinstance(model, Classifier)
        given, loss = np.zeros(len(self.pairs), dtype=np.int64), 0.0
        truth = np.zeros_like(given)
        with eval_mode(model):
            for places, each in self.valid_batches:
                batch = each.to(device)
                with autocast(precision, device):
                    logits = model.project(model(batch))[:, 0].float()
                loss += functional.cross_entropy(logits, batch.target_out[:, 0], reduction="sum").item()
                given[places], truth[places] = logits.argmax(dim=1).cpu().numpy(), batch.target_out[:, 0].cpu().numpy()
        scores = score_labels(self.labels, truth.tolist(), given.tolist())
        pair = self.pairs[len(self.pairs) // 2]
        answer = self.labels[given[len(self.pairs) // 2]]
        return Validation(
            loss / len(self.pairs),
            {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1},
            (("text", pair.source), ("label", pair.target.strip()), ("model", answer)),
        )


def validation_batches(prepared: PreparedLabels, *, tokens: int, longest: int | None) -> list[tuple[np.ndarray, Batch]]:
    """All validation texts as batches, made once for a whole run: indices of texts, and their batch.

    Raises `UserError` for a text with more tokens than the `longest` sequence that the model permits.
    """
    pairs, tokenizer = prepared.valid, prepared.tokenizers.source
    rows = [begun(row) for row in tokenizer.encode_batch([pair.source for pair in pairs])]
    if longest is not None:
        for pair, row in zip(pairs, rows, strict=True):
            require_room(row, longest, f"{pair.place}: this text for validation")
    lengths = np.array([len(row) + 1 for row in rows], dtype=np.int64)
    numbers = np.array(label_numbers(pairs, prepared.labels), dtype=np.int64)
    return [
        (places, label_batch([rows[place] for place in places], numbers[places], padding=tokenizer.padding))
        for places in cut_batches(lengths, lengths, tokens=tokens, generator=np.random.default_rng(0))
    ]
