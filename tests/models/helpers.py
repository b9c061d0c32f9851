"""Small models and random batches for the tests of everything that takes a model."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

import examples.scores  # registers alibi and relative
from limelight.attention.local import LocalMonotonic
from limelight.batching.batch import Batch, pad_rows
from limelight.config import DecoderOnlyConfig, ModelConfig, RecurrentConfig, TransformerConfig
from limelight.inspection.probe import Recording, probe
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from limelight.tokens import Tokenizers

TRANSFORMER = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 11, "heads": 3, "head_size": 2, "d_ff": 13}
RECURRENT = {"embedding": 11, "hidden": 13, "score_size": 5}
DECODER_ONLY = {"layers": 2, "d_model": 11, "heads": 3, "head_size": 2, "d_ff": 13}
MODERN: Any = {
    "norm": "pre", "norm_type": "rms_norm", "feed_forward": "gated", "activation": "swish", "kv_heads": 1,
    "positions": "rotary",
}  # fmt: skip
POSITIONAL = ("alibi", "relative", "local_m")
LocalMonotonic.window = 2
examples.scores.Relative.farthest = 3
"""The sequences of these tests are short."""


def transformer(**changed: object) -> TransformerConfig:
    return TransformerConfig(**{**TRANSFORMER, **changed})


def recurrent(**changed: object) -> RecurrentConfig:
    return RecurrentConfig(**{**RECURRENT, **changed})


def decoder_only(**changed: object) -> DecoderOnlyConfig:
    return DecoderOnlyConfig(**{**DECODER_ONLY, **changed})


def every_language_model() -> Iterator[tuple[str, ModelConfig]]:
    """A name and a configuration for everything that a language model may be."""
    yield "decoder-only", decoder_only()
    yield "decoder-only-pre", decoder_only(norm="pre", tie=False)
    yield "decoder-only-learned", decoder_only(norm="pre", positions="learned", max_positions=37, activation="gelu")
    yield "decoder-only-rotary", decoder_only(positions="rotary")
    yield "decoder-only-pre-rotary", decoder_only(norm="pre", positions="rotary")
    yield "decoder-only-wide-values", decoder_only(value_size=5)
    yield "decoder-only-narrow-values", decoder_only(head_size=4, value_size=3, norm="pre", positions="rotary")
    yield "decoder-only-additive", decoder_only(score="additive", head_size=4, value_size=3)
    yield "decoder-only-alibi", decoder_only(score="alibi", positions="none", value_size=3)
    yield "decoder-only-modern", decoder_only(**MODERN)
    yield "decoder-only-split-heads", decoder_only(d_model=12, head_size=None, layers=1, activation="swish")


def every_model() -> Iterator[tuple[str, ModelConfig]]:
    """A name and a configuration for everything that a model may be."""
    yield from every_language_model()
    yield "transformer", transformer()
    yield "transformer-pre", transformer(norm="pre")
    for positions in ("learned", "rotary"):
        yield f"transformer-{positions}", transformer(positions=positions, max_positions=17)
    yield "transformer-pre-rotary", transformer(positions="rotary", norm="pre")
    yield "transformer-halves", transformer(sinusoid_layout="halves")
    for tie in ("two-way", "none"):
        yield f"transformer-{tie}", transformer(tie=tie)
    yield "transformer-deep-encoder", transformer(encoder_layers=3, decoder_layers=1)
    yield "transformer-wide-values", transformer(value_size=5)
    yield "transformer-narrow-values", transformer(head_size=4, value_size=3, norm="pre")
    yield "transformer-narrow-values-rotary", transformer(head_size=4, value_size=3, positions="rotary")
    for score in ("dot", "general", "concat", "concat_bias", "additive"):
        yield f"transformer-{score}", transformer(score=score)
    yield "transformer-additive-rotary", transformer(score="additive", positions="rotary", norm="pre", value_size=3)
    for score in POSITIONAL:
        yield f"transformer-{score}", transformer(score=score, positions="none")
    yield "transformer-local_m-rotary", transformer(score="local_m", positions="rotary", value_size=3)
    yield "transformer-ssru", transformer(decoder_autoreg="ssru")
    yield "transformer-ssru-pre-rotary", transformer(decoder_autoreg="ssru", norm="pre", positions="rotary")
    yield "transformer-ssru-learned", transformer(decoder_autoreg="ssru", positions="learned", max_positions=17)
    yield "transformer-rms_norm", transformer(norm_type="rms_norm")
    yield "transformer-gated", transformer(feed_forward="gated", activation="gelu", norm="pre")
    yield "transformer-qk_norm", transformer(score="qk_norm", positions="rotary")
    yield "transformer-grouped", transformer(kv_heads=1, value_size=3)
    yield "transformer-modern", transformer(**MODERN, score="qk_norm")
    yield "transformer-split-heads", transformer(d_model=12, head_size=None, activation="gelu")

    for cell in ("rnn", "gru", "lstm"):
        yield f"{cell}-fixed", recurrent(cell=cell, wiring="fixed")
        for score in ("general", "concat", "concat_bias", "additive"):
            yield f"{cell}-bahdanau-{score}", recurrent(cell=cell, score=score)
            yield f"{cell}-luong-{score}", recurrent(cell=cell, wiring="luong", score=score)
    for score in ("dot", "scaled_dot", "qk_norm"):
        yield f"gru-bahdanau-{score}", recurrent(score=score)
        yield f"lstm-luong-{score}", recurrent(cell="lstm", wiring="luong", score=score)
        yield f"lstm-luong-{score}-one-way", recurrent(cell="lstm", wiring="luong", score=score, bidirectional=False)
    for score in ("alibi", "local_m"):
        yield f"gru-bahdanau-{score}", recurrent(score=score)
    yield "gru-bahdanau-local_p", recurrent(score="local_p")
    yield "lstm-luong-local_p", recurrent(cell="lstm", wiring="luong", score="local_p", input_feeding=False)
    for feeding in (True, False):
        yield f"gru-luong-relative-{feeding}", recurrent(wiring="luong", score="relative", input_feeding=feeding)
    for cell in ("gru", "lstm"):
        yield f"{cell}-luong-no-feeding", recurrent(cell=cell, wiring="luong", score="general", input_feeding=False)
    for wiring in ("fixed", "bahdanau", "luong"):
        yield f"gru-{wiring}-one-way", recurrent(wiring=wiring, bidirectional=False)
        yield f"lstm-{wiring}-deep", recurrent(cell="lstm", wiring=wiring, encoder_layers=2, decoder_layers=3)
        for tie in ("three-way", "two-way"):
            yield f"gru-{wiring}-{tie}", recurrent(wiring=wiring, tie=tie)


@dataclass(frozen=True)
class Vocabulary:
    """All of a tokenizer that a model is built from."""

    size: int
    kind: str = "made up"

    @property
    def padding(self) -> int:
        return self.size - 1

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """No two vocabularies are the same."""
        return [f"{number} of {id(self)}" for number in ids]


def make_model(config: ModelConfig, source_size: int = 31, target_size: int = 29) -> Seq2Seq:
    """A random model; one vocabulary of `target_size` where the configuration ties both sides, and for text."""
    target = Vocabulary(target_size)
    one = config.tie == "three-way" or isinstance(config, DecoderOnlyConfig)
    model = build_model(config, Tokenizers(target if one else Vocabulary(source_size), target))
    assert isinstance(model, Seq2Seq)
    return model


def exact_model(config: ModelConfig, source_size: int = 31, target_size: int = 29) -> Seq2Seq:
    """The same in float64 and without dropout, for laws that hold to rounding."""
    return make_model(config, source_size, target_size).double().eval()


def random_rows(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Rows of random tokens, neither end nor padding."""
    return [torch.randint(1, size - 1, (length,)).tolist() for length in lengths]


def batch_of(model: Seq2Seq, sources: list[list[int]], targets: list[list[int]]) -> Batch:
    """Rows without special ids as a batch of this model."""
    return model.batch(sources, targets)


def batch_as_it_stands(model: Seq2Seq, sources: list[list[int]], targets: list[list[int]]) -> Batch:
    """The same for sources that have their end, or none."""
    source, valid = pad_rows(sources, model.source_padding)
    return replace(
        batch_of(model, [[]] * len(targets), targets), source=source, source_valid=valid, source_lengths=valid.sum(1)
    )


def random_batch(
    model: Seq2Seq, source_lengths: Sequence[int] = (6, 1, 4), target_lengths: Sequence[int] = (2, 4, 3)
) -> Batch:
    """Random rows of these lengths; with the end on both sides 7 source and 5 target positions by default."""
    return batch_of(
        model,
        random_rows(source_lengths, model.source_padding + 1),
        random_rows(target_lengths, model.target_padding + 1),
    )


def attention_of(model: Seq2Seq, batch: Batch) -> Recording:
    """What a probe sees of a forward pass."""
    with probe(model, weights=True) as seen:
        model(batch)
    return seen


def heads_kept(model: Seq2Seq, keep: Mapping[str, Tensor]) -> AbstractContextManager[Recording]:
    """A context in which heads are scaled."""
    return probe(model, keep)
