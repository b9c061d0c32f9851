"""Attention maps: as numbers, as pictures, in the terminal."""

from limelight.inspection.attention_map import KINDS, AttentionMap, Link
from limelight.inspection.maps import attention_map, reader_map, text_map
from limelight.inspection.save import save, save_grid
from limelight.inspection.terminal import text_picture

__all__ = [
    "KINDS",
    "AttentionMap",
    "Link",
    "attention_map",
    "reader_map",
    "save",
    "save_grid",
    "text_map",
    "text_picture",
]
