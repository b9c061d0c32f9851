"""The coverage penalty (Wu et al. 2016, equation 14): a translation that leaves source tokens without attention ranks
lower. It changes the order of the finished hypotheses of a beam search."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from limelight.decoding.request import Hypothesis, Request
from limelight.errors import UserError
from limelight.inspection.probe import attention_of
from limelight.models.interface import Seq2Seq

LEAST = 1e-9
"""A source token without any attention counts as this, as log(0) would exclude the hypothesis."""


def ranked(model: Seq2Seq, request: Request, hypotheses: Sequence[Hypothesis]) -> Sequence[Hypothesis]:
    """The hypotheses of a request, finished ones first, then the best; with `coverage_penalty * cp` added to their
    scores, if it has one:

        cp(X; Y) = sum_i log(min(sum_j p_ij, 1))

    p_ij is the attention that target token j pays to source token i, the mean over heads and layers.

    Raises `UserError` for a model without attention to the source.
    """
    source, weight = request.source[:-1], request.settings.coverage_penalty
    if not (weight and hypotheses):
        return hypotheses
    batch = model.batch([source] * len(hypotheses), [hypothesis.ids for hypothesis in hypotheses])
    layers = attention_of(model, batch).layers("cross")
    if not layers:
        raise UserError("coverage_penalty needs attention from target to source, which this model does not have")
    attention = torch.stack(layers).float().mean(dim=(0, 2))
    rescored = []
    for hypothesis, weights in zip(hypotheses, attention, strict=True):
        received = weights[: len(hypothesis.ids) + hypothesis.finished, : len(source)].sum(dim=0)
        penalty = weight * float(received.clamp(LEAST, 1).log().sum())
        rescored.append(replace(hypothesis, score=hypothesis.score + penalty))
    return sorted(rescored, key=lambda scored: (not scored.finished, -scored.score))[: request.settings.n_best]
