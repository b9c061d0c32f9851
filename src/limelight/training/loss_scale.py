"""Dynamic loss scaling for fp16, whose numbers end at 65,504 above and at 6e-8 below (Micikevicius et al. 2018,
sections 3.2 and 3.3).

The loss is multiplied by a scale before the backward pass, so that small gradients are not rounded to zero, and the
fp32 gradients are divided by it before anything else is done with them. A scale at which a gradient overflows is
halved, and that update is left out; after many updates without an overflow it doubles. Scales are powers of two, so
scaling by itself rounds nothing.
"""

FIRST, MAX_SCALE = 2.0**16, 2.0**24
GROWTH_INTERVAL = 2000
"""Updates in a row without an overflow after which the scale doubles; the first scale and this number are those of
`torch.amp.GradScaler`."""


def next_scale(scale: float, since_change: int, *, applied: bool) -> tuple[float, int]:
    """The scale of the next update, and how many updates in a row were applied with it.

    Args:
        applied: whether the gradient of this update was finite.
    """
    if not applied:
        return max(1.0, scale / 2), 0
    if since_change + 1 == GROWTH_INTERVAL:
        return min(MAX_SCALE, scale * 2), 0
    return scale, since_change + 1
