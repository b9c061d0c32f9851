"""Tasks on plain text: language modeling (each token from the previous ones), masked language modeling, and
classification (texts with one label each).
"""

import math
from itertools import chain

import numpy as np
from torch.nn import functional

from limelight.batching.batch import begun, cut_batches, label_batch
from limelight.batching.blocks import BlockStream, MaskedStream, blocks_in_order
from limelight.batching.drawing import View
from limelight.batching.stream import LabelStream
from limelight.config import RunConfig
from limelight.evaluation.labels import score_labels
from limelight.models.interface import Model, eval_mode, longest_sequence
from limelight.models.transformer.halves import Classifier, MaskedModel
from limelight.preparation.pairs import Prepared
from limelight.preparation.plain_text import PreparedText
from limelight.text.labels import label_numbers
from limelight.training.optimization.precision import autocast
from limelight.training.tasks.task import Task, Validation, mean_loss, require_room_for

MIN_VALID_TOKENS = 16_384
"""Minimum number of tokens in a validation batch."""


class LanguageModeling(Task):
    """Learns p(token | previous tokens of the block).

    Raises `UserError` for a text shorter than a block.
    """

    def __init__(self, config: RunConfig, prepared: PreparedText, model: Model) -> None:
        self.config, self.block = config, config.batching.block
        self.text, self.validates = prepared.valid, len(prepared.valid.ids) > 1
        self.amount = f"{len(prepared.train.ids):,} tokens of text"
        self.tokens = max(config.batching.tokens, MIN_VALID_TOKENS)
        self.stream = BlockStream(
            prepared.train.ids,
            tokens=config.batching.tokens,
            block=self.block,
            seed=config.training.seed,
        )

    def validate(self, model: Model, precision: str) -> Validation:
        """The mean loss per token, and bits per byte of the text, which does not depend on the tokenization."""
        ids = self.text.ids
        batches = blocks_in_order(ids, tokens=self.tokens, block=min(self.block, len(ids) - 1))
        loss = mean_loss(model, batches, precision)
        pieces_per_byte = (len(ids) - 1) / self.text.utf8_bytes
        return Validation(loss, {"bits_per_byte": loss / math.log(2) * pieces_per_byte})


class Masked(Task):
    """Learns p(token | other tokens of the line) (Devlin et al. 2019, section 3.1, without next-sentence prediction).

    Validation lines are masked once, so every validation has the same masks. Raises `UserError` for text without a
    token that can be masked.
    """

    def __init__(self, config: RunConfig, prepared: PreparedText, model: MaskedModel) -> None:
        self.config, self.tokenizer = config, prepared.tokenizers.target
        self.stream = stream = self._stream(prepared.train.ids, seed=config.training.seed)
        self.amount = f"{len(stream):,} lines of text"
        self.validates = prepared.valid.documents > 0
        self.valid_batches = list(self._stream(prepared.valid.ids, seed=0).epoch()) if self.validates else []

    def _stream(self, ids: np.ndarray, *, seed: int) -> MaskedStream:
        batching = self.config.batching
        return MaskedStream(
            ids,
            self.tokenizer,
            tokens=batching.tokens,
            max_length=batching.max_length,
            share=self.config.training.mask_share,
            seed=seed,
            chunk_rows=batching.chunk_pairs,
        )

    def validate(self, model: Model, precision: str) -> Validation:
        """The mean loss per masked token."""
        return Validation(mean_loss(model, self.valid_batches, precision))


class Labels(Task):
    """Learns p(label | text). Raises `UserError` for a text for validation longer than the model permits."""

    def __init__(self, config: RunConfig, prepared: Prepared, model: Classifier) -> None:
        self.config, self.labels = config, prepared.labels
        self.validates = any(prepared.valid)
        self.amount = f"{sum(map(len, prepared.stores)):,} texts with {len(prepared.labels):,} labels"
        self.stream = LabelStream(
            [View(store, corpus.weight) for corpus, store in zip(config.data.train, prepared.stores, strict=True)],
            prepared.tokenizers,
            tokens=config.batching.tokens,
            seed=config.training.seed,
            chunk_pairs=config.batching.chunk_pairs,
        )
        pairs, tokenizer = list(chain.from_iterable(prepared.valid)), prepared.tokenizers.source
        rows = [begun(tokenizer.encode(pair.source)) for pair in pairs]
        numbers = np.array(label_numbers(pairs, prepared.labels), dtype=np.int64)
        require_room_for(pairs, rows, longest=longest_sequence(model))
        lengths, generator = np.array([len(row) + 1 for row in rows], dtype=np.int64), np.random.default_rng(0)
        self.valid_batches = [
            label_batch([rows[text] for text in texts], numbers[texts], padding=tokenizer.padding)
            for texts in cut_batches(lengths, lengths, tokens=config.batching.tokens, generator=generator)
        ]

    def validate(self, model: Model, precision: str) -> Validation:
        """The mean loss per label, accuracy and macro-F1 of the most probable labels."""
        assert isinstance(model, Classifier)
        predicted, truth, loss = list[int](), list[int](), 0.0
        with eval_mode(model) as device:
            for batch in self.valid_batches:
                labels = batch.target_out[:, 0].to(device)
                with autocast(precision, device):
                    logits = model.project(model(batch.to(device)))[:, 0].float()
                loss += functional.cross_entropy(logits, labels, reduction="sum").item()
                predicted += logits.argmax(dim=1).tolist()
                truth += labels.tolist()
        scores = score_labels(self.labels, truth, predicted)
        return Validation(loss / len(truth), {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1})
