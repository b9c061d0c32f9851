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
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.batching.batch import Batch
from limelight.errors import UserError
from limelight.inspection.probe import probe
from limelight.models.interface import Seq2Seq, eval_mode
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
        both = model.batch([sides.source, sides.other], [sides.prefix] * 2).to(device)
        with probe(model, states=True) as seen:
            first, second = _difference(model, both, sides).tolist()
        if abs(first - second) < MIN_DIFFERENCE:
            raise UserError(
                f"log p(token) - log p(other token) is {first:.2f} with one source and {second:.2f} with the other: "
                "their difference does not depend on the sources; choose others"
            )
        effects: dict[str, list[Array]] = {"encoder": [], "decoder": []}
        for name, (state, _) in seen.states.items():
            count = state.shape[0]
            batch = model.batch([sides.other] * count, [sides.prefix] * count).to(device)
            with probe(model, change={name: partial(_replaced, state)}):
                found = _difference(model, batch, sides).cpu().double().numpy()
            effects[name.partition(".")[0]].append((found - second) / (first - second))
        return Effects(np.array(effects["encoder"]), np.array(effects["decoder"]), first, second)


def _difference(model: Seq2Seq, batch: Batch, sides: Sides) -> Float[Tensor, " rows"]:
    """D of each row: log p(y) - log p(y') after the prefix, which is the difference of their logits."""
    logits = model.project(model(batch)[:, -1])
    return logits[:, sides.token] - logits[:, sides.other_token]


def _replaced(
    first: Float[Tensor, "length model"], states: Float[Tensor, "length length model"]
) -> Float[Tensor, "length length model"]:
    """In row i the states of the second source, with that of the first at position i."""
    positions, rows = torch.arange(len(first), device=first.device), states.clone()
    rows[positions, positions] = first
    return rows
