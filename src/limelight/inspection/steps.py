"""The decoding steps of one translation: the most probable tokens at each position.

All positions are computed at once, given the preceding tokens (teacher forcing), so a step has the probabilities that
the search had along the chosen translation.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from limelight.batching.batch import make_batch, make_blocks
from limelight.inspection.words import END_PIECE, drawable, readable
from limelight.models.interface import KeepHeads, Seq2Seq, eval_mode
from limelight.models.language_model import LanguageModel
from limelight.tokens import Tokenizer

CANDIDATES = 10
"""Number of candidates of each step, the most probable first."""


def decoding_steps(
    model: Seq2Seq,
    target: Tokenizer,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    *,
    candidates: int = CANDIDATES,
    keep_heads: KeepHeads | None = None,
) -> list[dict[str, Any]]:
    """A step for each target token and one for the end, as values for JSON.

    `source_ids` and `target_ids` are without start and end. Each step is `{"chosen": {...}, "rank", "candidates":
    [...]}`: `rank` counts the chosen token from 0; a candidate has `id`, `text`, `probability` and `log_probability`
    (natural logarithm). The sum of the chosen log-probabilities is that of the translation.
    """
    batch = make_batch(
        [source_ids],
        [target_ids],
        start=model.start_id,
        end=model.end_id,
        source_padding=model.source_padding,
        target_padding=model.target_padding,
    )
    with eval_mode(model) as device, torch.inference_mode():
        features = model.forward(batch.to(device), keep_heads=keep_heads)
        log_probabilities = model.project(features)[0].float().log_softmax(dim=-1).cpu()
    return _told(log_probabilities, target, [*target_ids, model.end_id], candidates, end=model.end_id)


def text_steps(
    model: LanguageModel, tokenizer: Tokenizer, ids: Sequence[int], *, candidates: int = CANDIDATES
) -> list[dict[str, Any]]:
    """The steps of a language model for a text from its beginning: one for each token and one for the end."""
    batch = make_blocks(np.array([[model.start_id, *ids, model.end_id]]))
    with eval_mode(model) as device:
        features = model.forward(batch.to(device))
        log_probabilities = model.project(features)[0].float().log_softmax(dim=-1).cpu()
    return _told(log_probabilities, tokenizer, [*ids, model.end_id], candidates, end=model.end_id)


def _told(
    log_probabilities: Tensor, target: Tokenizer, said: Sequence[int], candidates: int, *, end: int
) -> list[dict[str, Any]]:
    """The steps, given log-probabilities (positions, vocab) and the tokens at these positions."""
    top = log_probabilities.topk(min(candidates, log_probabilities.shape[-1]), dim=-1)
    steps = []
    for place, chosen in enumerate(said):
        row = log_probabilities[place]
        steps.append(
            {
                "chosen": candidate(target, chosen, float(row[chosen]), end=end),
                "rank": int((row > row[chosen]).sum()),
                "candidates": [
                    candidate(target, each, value, end=end)
                    for each, value in zip(top.indices[place].tolist(), top.values[place].tolist(), strict=True)
                ],
            }
        )
    return steps


def candidate(target: Tokenizer, token: int, log_probability: float, *, end: int) -> dict[str, Any]:
    """A candidate as values for JSON; `begins` says whether a word begins with it."""
    if token == end:
        piece = END_PIECE
    else:
        (piece,) = target.pieces([token])
    found: dict[str, Any] = {
        "id": token,
        "text": drawable(readable(piece)),
        "probability": torch.tensor(log_probability).exp().item(),
        "log_probability": log_probability,
    }
    return found | ({"role": "end"} if token == end else {"begins": piece.startswith("▁")})
