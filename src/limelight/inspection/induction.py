"""Induction heads of language models: heads that find what followed the same token before.

Random tokens are repeated, `r_0 ... r_n-1 r_0 ... r_n-1`, so that nothing but the repetition can be predicted. At the
second r_i, an induction head attends to the token after the first one, r_i+1. Its score is the mean weight on that
position (the prefix matching score of Olsson et al. 2022, "In-context Learning and Induction Heads").
"""

import numpy as np
import numpy.typing as npt

from limelight.batching.batch import make_blocks
from limelight.errors import UserError
from limelight.inspection.probe import probe
from limelight.models.interface import LanguageModel, eval_mode, longest_sequence
from limelight.tokens.text import RESERVED

LENGTH, ROWS = 25, 16


def induction_scores(
    model: LanguageModel, *, length: int = LENGTH, rows: int = ROWS, seed: int = 1
) -> npt.NDArray[np.float64]:
    """(layers, heads): the mean weight of each head on the token after the former occurrence; one pass over `rows`
    texts of twice `length` random tokens.

    A head with equal weights has about 0.7 / `length`. Raises `UserError` for a model without attention and for texts
    that are longer than its learned positions.
    """
    longest = longest_sequence(model)
    if longest is not None and 2 * length + 1 > longest:
        raise UserError(f"length={length}: this model takes at most {(longest - 1) // 2} (its learned positions)")
    first = min(2 + len(RESERVED), model.target_padding - 1)
    drawn = np.random.default_rng(seed).integers(first, model.target_padding, size=(rows, length))
    ends = np.full((rows, 1), model.end_id)
    with eval_mode(model) as device, probe(model, weights=True) as seen:
        model(make_blocks(np.hstack([ends, drawn, drawn, ends])).to(device))
    if not seen.calls:
        raise UserError("this model has no attention, so no head can be an induction head")
    # Position 0 is the start: the second r_i is at 1 + length + i, the token after the first one at 2 + i.
    queries, keys = 1 + length + np.arange(length), 2 + np.arange(length)
    return np.stack(
        [layer[:, :, queries, keys].float().mean(dim=(0, 2)).cpu().numpy() for layer in seen.layers("decoder_self")]
    )
