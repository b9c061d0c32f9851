"""Quality of a language model: the log-likelihood of unseen text.

   loss = -(1 / N) sum_t log p(y_t | context)        natural logarithm, including the ends of documents

The model reads blocks of its training length, one after the other: the first token of a block is predicted from a
single previous token, as in nanoGPT's evaluation (Karpathy 2022). Figures per character and per byte are comparable
between vocabularies.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limelight.batching.blocks import blocks_in_order
from limelight.errors import UserError, counted
from limelight.evaluation.summary import Figures, provenance_lines, versions
from limelight.formats.running_text import measure, read_documents
from limelight.inspection.batches import token_log_probabilities
from limelight.models.interface import eval_mode
from limelight.pipelines.generator import TextGenerator
from limelight.tokens.text import encode_text
from limelight.tokens.tokenizer import END, UNKNOWN

AT_ONCE = 8192
"""Number of tokens that are read at once."""


@dataclass(frozen=True)
class TextEvaluation(Figures):
    """Result of `evaluate_text`. Lower is better."""

    NAMES = ("loss", "loss_per_character", "perplexity", "bits_per_byte", "pieces", "unknown", "characters", "bytes",
             "documents", "context", "seconds", "provenance")  # fmt: skip

    total: float
    """Negative log-likelihood of all tokens, natural logarithm."""
    pieces: int
    """Number of predicted tokens, including the end of each document."""
    unknown: int
    """Number of tokens unknown to the vocabulary. Their text is not predicted, so many of them make a model look
    better."""
    documents: int
    characters: int
    """Characters of the original text, line ends included."""
    bytes: int
    """Bytes of the original text in UTF-8."""
    context: int
    """Maximum number of tokens from which one is predicted."""
    seconds: float
    """Wall-clock time of the model."""
    provenance: Mapping[str, Any]
    """Model, test files, unit of documents, seed, versions."""

    @property
    def loss(self) -> float:
        """Loss per predicted token, natural logarithm; comparable only with the same vocabulary."""
        return self.total / self.pieces

    @property
    def loss_per_character(self) -> float:
        """Loss per character of the text."""
        return self.total / self.characters

    @property
    def perplexity(self) -> float:
        """`exp(loss)`; infinite on overflow."""
        return math.exp(self.loss) if self.loss < 700 else math.inf

    @property
    def bits_per_byte(self) -> float:
        """Binary logarithm per byte of the text: its compressed size under the model."""
        return self.total / math.log(2) / self.bytes

    def table(self) -> str:
        """The result as lines of plain text."""
        figures = {
            "loss": f"{self.loss:.4f} per token",
            "per character": f"{self.loss_per_character:.4f}",
            "perplexity": f"{self.perplexity:.4f}",
            "bits per byte": f"{self.bits_per_byte:.4f}",
        }
        unknown = f", {self.unknown:,} of them unknown" if self.unknown else ""
        text = f"{counted(self.documents, 'document')}, {self.characters:,} characters, {self.pieces:,} tokens{unknown}"
        speed = f"{self.pieces / self.seconds:,.0f} tokens/s" if self.seconds else ""
        lines = [f"{name:<15} {value}" for name, value in figures.items()]
        lines += ["", text, f"each predicted from at most {self.context:,}; {self.seconds:.1f} s: {speed}"]
        return "\n".join([*lines, *provenance_lines(self.provenance)])


def evaluate_text(
    generator: TextGenerator,
    files: Sequence[str | Path],
    *,
    by_line: bool = False,
    origin: Mapping[str, Any] | None = None,
) -> TextEvaluation:
    """Evaluate a language model on files of plain text, read as one stream of documents.

    Args:
        by_line: whether each line of a file is a document; else the file is. Blank documents are left out.
        origin: added to the provenance.

    Raises `UserError` for a file that cannot be read, with the line, and if there is no text.
    """
    tokenizer = generator.tokenizers.target
    parts = [np.array([END], dtype=np.int64)]  # an end token before the first document and after each, as in training
    documents = characters = utf8_bytes = 0
    for file in files:
        for part in read_documents(file, measure(file, by_line=by_line), by_line=by_line):
            ids = [*encode_text(tokenizer, part.text), *[END] * part.ends]
            parts.append(np.array(ids, dtype=np.int64))
            documents += part.ends
            characters += part.characters
            utf8_bytes += part.utf8_bytes
    if not documents:
        raise UserError(f"there is nothing to evaluate: {', '.join(map(str, files))}: the text is blank")
    stream = np.concatenate(parts)
    context = min(generator.window or len(stream), len(stream) - 1)
    start = time.perf_counter()
    with eval_mode(generator.model) as device:
        total = math.fsum(
            -token_log_probabilities(generator.model, batch.to(device)).cpu().double().sum().item()
            for batch in blocks_in_order(stream, tokens=AT_ONCE, block=context)
        )
    return TextEvaluation(
        total=total,
        pieces=len(stream) - 1,
        unknown=int((stream == UNKNOWN).sum()),
        documents=documents,
        characters=characters,
        bytes=utf8_bytes,
        context=context,
        seconds=time.perf_counter() - start,
        provenance={
            **(origin or {}),
            "test_files": [str(file) for file in files],
            "document": "line" if by_line else "file",
            "versions": versions(),
        },
    )
