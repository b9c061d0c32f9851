"""Validation of one direction: the loss, and BLEU and chrF of greedy translations."""

from collections.abc import Sequence

import numpy as np
import torch

from limelight.batching.batch import Batch, cut_batches, make_batch
from limelight.config import DecodingConfig
from limelight.evaluation.metrics import choose_tokenization, corpus_bleu, corpus_chrf, require_scorable
from limelight.models.interface import Seq2Seq, longest_sequence, require_room
from limelight.pipelines.options import SEARCH_ONLY, TextOptions
from limelight.pipelines.translator import Translator
from limelight.text.pair import Pair
from limelight.tokens import END, Tokenizers
from limelight.training.distributed import ALL_MINE, Sharing
from limelight.training.precision import autocast, search_precision
from limelight.training.tasks.task import Validation, mean_loss


class ValidSet:
    """Pairs of one direction, made into batches once for a whole run.

    Args:
        tokenizers: those of this direction, which add the language tag if the model has several directions.
        sentences: number of pairs that are translated; 0 measures only the loss.
        tokenize: sacreBLEU's tokenization; if None, chosen by the target `language` or the script of the pairs.

    Raises `UserError` for a pair longer than the model permits, and for a tokenization that is not available.
    """

    def __init__(
        self,
        pairs: Sequence[Pair],
        tokenizers: Tokenizers,
        model: Seq2Seq,
        *,
        tokens: int,
        sentences: int,
        language: str = "",
        tokenize: str | None = None,
    ) -> None:
        self.tokenizers = tokenizers
        self.chosen = _spread(pairs, sentences)
        self.tokenize, self.measured_by = _bleu_of(pairs, self.chosen, language, tokenize)
        self.batches = validation_batches(pairs, tokenizers, tokens=tokens, longest=longest_sequence(model))

    def measure(
        self,
        model: Seq2Seq,
        decoding: DecodingConfig,
        *,
        precision: str,
        device: torch.device,
        sharing: Sharing = ALL_MINE,
    ) -> Validation:
        """The loss over all batches, and metrics of greedy translations of evenly spaced pairs."""
        loss = mean_loss(model, self.batches, autocast=autocast(precision, device), device=device, sharing=sharing)
        if not self.chosen:
            return Validation(loss)
        sources, references = [[getattr(pair, side) for pair in self.chosen] for side in ("source", "target")]
        outputs = sharing.over(
            self.chosen, lambda some: self.translate(model, list(some), decoding, precision=precision)
        )
        figures = {
            "bleu": corpus_bleu(outputs, references, tokenize=self.tokenize).score,
            "chrf": corpus_chrf(outputs, references).score,
        }
        middle = len(outputs) // 2
        shown = sources[middle], references[middle], outputs[middle]
        return Validation(loss, figures, tuple(zip(("source", "reference", "model"), shown, strict=True)))

    def translate(
        self, model: Seq2Seq, pairs: Sequence[Pair], decoding: DecodingConfig, *, precision: str
    ) -> list[str]:
        """Greedy translations of the sources of `pairs`."""
        translator = Translator(
            model, self.tokenizers, decoding, precision=search_precision(precision), threads=torch.get_num_threads()
        )
        asked: TextOptions = {**SEARCH_ONLY, "beam_size": 1}
        found = translator.translate([pair.source for pair in pairs], **asked)
        return [output.text for output in found]


def validation_batches(
    pairs: Sequence[Pair], tokenizers: Tokenizers, *, tokens: int, longest: int | None
) -> list[Batch]:
    """All pairs as batches, made once for a whole run.

    Raises `UserError` for a pair with more tokens than the `longest` sequence that the model permits: now, not at the
    first validation.
    """
    sources = tokenizers.source.encode_batch([pair.source for pair in pairs])
    targets = tokenizers.target.encode_batch([pair.target for pair in pairs])
    if longest is not None:
        for pair, *rows in zip(pairs, sources, targets, strict=True):
            require_room(max(rows, key=len), longest, f"{pair.place}: this validation pair")
    lengths = [np.array([len(row) + 1 for row in side]) for side in (sources, targets)]
    padding = tokenizers.target.padding
    return [
        make_batch(
            [sources[row] for row in rows],
            [targets[row] for row in rows],
            start=padding,
            end=END,
            source_padding=tokenizers.source.padding,
            target_padding=padding,
        )
        for rows in cut_batches(*lengths, tokens=tokens, generator=np.random.default_rng(0))
    ]


def _bleu_of(pairs: Sequence[Pair], chosen: Sequence[Pair], language: str, wanted: str | None) -> tuple[str, str]:
    """The tokenization for BLEU, and a description of how BLEU is measured."""
    if not chosen:
        return "", ""
    references = [pair.target for pair in pairs]
    tokenization = choose_tokenization(language, references, wanted=wanted)
    require_scorable(len(references), references, tokenization.name)
    some = f"{len(chosen):,} of {len(pairs):,} sentences"
    return tokenization.name, f"sacreBLEU {tokenization}, cased, greedy, {some}"


def _spread(pairs: Sequence[Pair], count: int) -> Sequence[Pair]:
    """`count` evenly spaced pairs, so that a file sorted by length is covered; all if there are fewer."""
    if len(pairs) <= count:
        return pairs
    return [pairs[int(place)] for place in np.linspace(0, len(pairs) - 1, count)]
