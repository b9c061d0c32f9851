"""Attention maps: as numbers, as pictures, in the terminal."""

from limelight.inspection.attention_map import KINDS, AttentionMap, Link
from limelight.inspection.contributions import contributions
from limelight.inspection.erasure import erasures
from limelight.inspection.head_importance import sentence_losses
from limelight.inspection.heads import with_heads
from limelight.inspection.heatmap import save
from limelight.inspection.layers import decoder_lens, encoder_lens
from limelight.inspection.maps import attention_map, reader_map, text_map
from limelight.inspection.probe import probe
from limelight.inspection.terminal import text_picture

__all__ = [
    "KINDS",
    "AttentionMap",
    "Link",
    "attention_map",
    "contributions",
    "decoder_lens",
    "encoder_lens",
    "erasures",
    "probe",
    "reader_map",
    "save",
    "sentence_losses",
    "text_map",
    "text_picture",
    "with_heads",
]
