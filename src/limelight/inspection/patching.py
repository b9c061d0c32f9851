"""Patching: activations of one source put into another, to find where their difference is kept.

Two sources differ in little (number, gender, tense), and their translations in a token: y after the first, y' after the
second, both after the same prefix of the target. Of a run with the second source one vector, the output of one layer
at one position, is replaced by that of a run with the first source, and everything after it is computed again. With

    D = log p(y | ...) - log p(y' | ...)

the effect of a replacement is (D_replaced - D_second) / (D_first - D_second): 0 if nothing of the first source returns,
1 if the model then prefers y as much as with the first source. Vig et al. 2020, "Investigating Gender Bias in Language
Models Using Causal Mediation Analysis", and Meng et al. 2022, "Locating and Editing Factual Associations in GPT"
(section 2), measure causes in this way. Effects of single positions do not add up.
"""

from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.attention.attend import permit_keys
from limelight.attention.multi_head import Rotate
from limelight.batching.batch import Batch
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq, eval_mode
from limelight.models.transformer.layers import CrossAttentionLayer, EncoderLayer, SourceView
from limelight.models.transformer.model import Transformer
from limelight.shapes import Float

Array = npt.NDArray[np.float64]


class Sides(NamedTuple):
    """Two sources of equal length, the prefix of the target, and the token after it for each source."""

    source: Sequence[int]
    other: Sequence[int]
    prefix: Sequence[int]
    token: int
    other_token: int


class Effects(NamedTuple):
    """What returns of the first source; row k is after k layers, 0 the embeddings."""

    encoder: Array
    """(layers + 1, source tokens and end)"""
    decoder: Array
    """(layers + 1, start and prefix): target positions."""
    first: float
    """D with the first source, in nats: how much more probable its token is than the other one."""
    second: float
    """D with the second source."""


MIN_DIFFERENCE = 0.1
"""Nats: with a smaller difference of D effects are noise."""


def patch(model: Seq2Seq, sides: Sides) -> Effects:
    """The effect of each vector of the encoder and of the decoder.

    Ids are without start and end. Raises `UserError` for other models than Transformers with encoder and decoder, for
    sources of different lengths, and if D hardly differs between the sources.
    """
    if not isinstance(model, Transformer):
        raise UserError("patching is for Transformers with encoder and decoder: this is another model")
    if len(sides.source) != len(sides.other):
        raise UserError(
            f"the sources have {len(sides.source)} and {len(sides.other)} tokens: patching compares position by "
            "position; choose words with equal numbers of tokens"
        )
    with eval_mode(model) as device:
        run = _Run(model, model.batch([sides.source, sides.other], [sides.prefix] * 2).to(device), sides)
        first, second = run.plain.tolist()
        if abs(first - second) < MIN_DIFFERENCE:
            raise UserError(
                f"log p(token) - log p(other token) is {first:.2f} with one source and {second:.2f} with the other: "
                "their difference does not depend on the sources; choose others"
            )
        found = [
            (np.array([each.double().cpu().numpy() for each in rows]) - second) / (first - second)
            for rows in (run.encoder(), run.decoder())
        ]
        return Effects(found[0], found[1], first, second)


class _Run:
    """Both sources in one batch, with the outputs of all layers."""

    def __init__(self, model: Transformer, batch: Batch, sides: Sides) -> None:
        self.model, self.sides, self.batch = model, sides, batch
        self.encoder_layers = cast(list[EncoderLayer], list(model.encoder.layers))
        self.decoder_layers = cast(list[CrossAttentionLayer], list(model.decoder.layers))
        hidden, self.rotate = model.encoder.enter(batch.source)
        self.encoder_states = [hidden]
        for layer in self.encoder_layers:
            hidden, _ = layer(hidden, permit_keys(batch.source_valid), rotate=self.rotate)
            self.encoder_states.append(hidden)
        self.sources = self._sources(hidden)
        hidden, self.turn = model.decoder.enter(batch.target_in)
        self.decoder_states = [hidden]
        for above, source in zip(self.decoder_layers, self.sources, strict=True):
            hidden = above(hidden, source, rotate=self.turn).features
            self.decoder_states.append(hidden)
        self.plain = self._difference(hidden)

    def encoder(self) -> list[Tensor]:
        """D for each layer: (length,)"""
        found = []
        for depth, states in enumerate(self.encoder_states):
            hidden = _replaced(states)
            valid = permit_keys(self.batch.source_valid[1:].expand(len(hidden), -1))
            for layer in self.encoder_layers[depth:]:
                hidden, _ = layer(hidden, valid, rotate=self.rotate)
            sources, (target, turn) = self._sources(hidden), self._target(len(hidden))
            found.append(self._decoded(target, sources, turn, 0))
        return found

    def decoder(self) -> list[Tensor]:
        """D for each layer: (length,)"""
        found = []
        for depth, states in enumerate(self.decoder_states):
            hidden = _replaced(states)
            sources = [_second(source, len(hidden)) for source in self.sources]
            found.append(self._decoded(hidden, sources, self.turn, depth))
        return found

    def _sources(self, hidden: Float[Tensor, "rows source model"]) -> Sequence[SourceView]:
        valid = self.batch.source_valid[:1].expand(len(hidden), -1)
        return self.model.decoder.project_memory(self.model.encoder.leave(hidden), permit_keys(valid))

    def _target(self, count: int) -> tuple[Tensor, Rotate | None]:
        return self.model.decoder.enter(self.batch.target_in[1:].expand(count, -1))

    def _decoded(self, hidden: Tensor, sources: Sequence[SourceView], turn: Rotate | None, depth: int) -> Tensor:
        """D from the output of so many decoder layers."""
        for layer, source in list(zip(self.decoder_layers, sources, strict=True))[depth:]:
            hidden = layer(hidden, source, rotate=turn).features
        return self._difference(hidden)

    def _difference(self, hidden: Float[Tensor, "rows target model"]) -> Float[Tensor, " rows"]:
        """log p(y) - log p(y') of the last position, which is the difference of their logits."""
        logits = self.model.project(self.model.decoder.leave(hidden)[:, -1])
        return logits[:, self.sides.token] - logits[:, self.sides.other_token]


def _replaced(states: Float[Tensor, "2 length model"]) -> Float[Tensor, "length length model"]:
    """In row i the states of the second source, with that of the first at position i."""
    count = states.shape[1]
    places = torch.arange(count, device=states.device)
    rows = states[1].repeat(count, 1, 1)
    rows[places, places] = states[0]
    return rows


def _second(source: SourceView, count: int) -> SourceView:
    """The keys and values of the second source for so many rows."""
    may_attend = None if source.may_attend is None else source.may_attend[1:].expand(count, -1, -1, -1)
    shape = (count, -1, -1, -1)
    return SourceView(source.keys[1:].expand(shape), source.values[1:].expand(shape), may_attend)
