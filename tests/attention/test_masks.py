"""Masks say what they permit."""

import torch

from limelight.attention.attend import causal_mask, permit_keys


def test_permit_keys_stays_in_broadcast_form() -> None:
    valid = torch.tensor([[True, True, False], [True, False, False]])
    may_attend = permit_keys(valid)
    assert may_attend.shape == (2, 1, 1, 3)
    assert torch.equal(may_attend[:, 0, 0], valid)


def test_causal_mask_is_the_lower_triangle() -> None:
    may_attend = causal_mask(5, 5)
    for query in range(5):
        assert may_attend[query].tolist() == [key <= query for key in range(5)]


def test_the_last_query_stands_at_the_last_key() -> None:
    """Queries that come after a cached past see all of it."""
    may_attend = causal_mask(2, 5)
    assert may_attend.tolist() == [[True] * 4 + [False], [True] * 5]
    assert causal_mask(1, 5).all()


def test_masks_are_made_where_they_are_needed() -> None:
    assert causal_mask(2, 3, device=torch.device("meta")).device.type == "meta"
