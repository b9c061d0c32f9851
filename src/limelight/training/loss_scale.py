"""Dynamic loss scaling for fp16, whose range is 6e-8 to 65,504 (Micikevicius et al. 2018, sections 3.2 and 3.3).

The loss is multiplied by a scale before the backward pass, so that small gradients are not rounded to zero, and the
fp32 gradients are divided by it before they are used. If a gradient overflows, the scale is halved and the update is
skipped; after many updates without an overflow it is doubled. Scales are powers of two, so scaling is exact.
"""

FIRST, MAX_SCALE = 2.0**16, 2.0**24
GROWTH_INTERVAL = 2000
"""Consecutive updates without an overflow after which the scale doubles; this number and the first scale are those of
`torch.amp.GradScaler`."""


def next_scale(scale: float, since_change: int, *, applied: bool) -> tuple[float, int]:
    """The scale of the next update, and the number of consecutive updates that were applied with it.

    Args:
        applied: whether the gradient of this update was finite.
    """
    if not applied:
        return max(1.0, scale / 2), 0
    if since_change + 1 == GROWTH_INTERVAL:
        return min(MAX_SCALE, scale * 2), 0
    return scale, since_change + 1
