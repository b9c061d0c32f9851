"""A forced prefix: pieces with which a translation has to begin."""

from collections.abc import Sequence

import torch
from torch import Tensor

from limelight.batching.batch import pad_rows
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq
from limelight.shapes import Int

FREE = -1
"""Stands in the table where the search may choose."""


def forced_ids(
    prefix: Sequence[Sequence[int]] | None, model: Seq2Seq, source: Int[Tensor, "batch source"]
) -> Int[Tensor, "batch prefix"]:
    """The prefixes of a batch as a table, `FREE` behind the shorter ones; no columns where there is no prefix.

    Raises `UserError` for another number of prefixes than of sources, and for an id that cannot be a piece.
    """
    batch = len(source)
    if prefix is None:
        return source.new_empty((batch, 0))
    if len(prefix) != batch:
        raise UserError(f"{len(prefix)} prefixes for {batch} sources: give one for each, an empty one forces nothing")
    for row, ids in enumerate(prefix):
        for piece in ids:
            if piece == model.end_id or not 0 <= piece < model.output_size:
                raise UserError(
                    f"prefix {row + 1} forces the id {piece}: a piece is an id from 0 to {model.output_size - 1} "
                    f"other than {model.end_id}, the end"
                )
    table, _ = pad_rows(prefix, FREE)
    return table.to(source.device)


def limits_with(max_lengths: Int[Tensor, " batch"], forced: Int[Tensor, "batch prefix"]) -> Int[Tensor, " batch"]:
    """The length limits, raised to the length of a prefix that is longer: what is forced is never cut."""
    return torch.maximum(max_lengths.to(forced.device), (forced != FREE).sum(dim=1))
