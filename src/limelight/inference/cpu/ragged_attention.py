"""Self-attention of sentences end to end, without padding: each is attended to as if it were alone.

So the output of a sentence does not depend, in any bit, on the sentences beside it, and no padding is computed.
"""

import torch
from torch import Tensor

from limelight.attention.attend import attend
from limelight.inference.cpu.attention import attend_within, rotate
from limelight.inference.cpu.jit import Integers, Numbers
from limelight.shapes import Float

SHORT = 64
"""Up to so many positions compiled loops are faster than the fused kernel."""


def attend_ragged(
    joint: Float[Tensor, "rows inner"], firsts: Integers, heads: int, head_size: int, turns: Numbers | None = None
) -> Float[Tensor, "rows value_size"]:
    """The context of every position.

    Args:
        joint: queries, keys and values of all heads at each position, side by side; the rest of a row are its values.
        firsts: (sentences + 1,): where the positions of each sentence begin, and where the last ones end.
        turns: with rotary positions, what turns each row (`RotaryTable`): its queries and keys are turned in place.
    """
    if turns is not None:
        rotate(joint.numpy(), turns, heads)
    inner = heads * head_size
    parts = joint.split([inner, inner, joint.shape[1] - 2 * inner], dim=1)
    # (rows, heads * size) -> (rows, heads, size)
    queries, keys, values = (part.unflatten(1, (heads, -1)).contiguous() for part in parts)
    context = torch.empty_like(values)
    attend_within(queries.numpy(), keys.numpy(), values.numpy(), firsts, SHORT, context.numpy())
    for begin, end in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
        if end - begin > SHORT:
            # (length, heads, size) -> (1, heads, length, size)
            one = (part[begin:end].transpose(0, 1)[None] for part in (queries, keys, values))
            context[begin:end] = attend(*one)[0][0].transpose(0, 1)
    return context.flatten(1)
