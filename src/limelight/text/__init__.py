"""Strings only: the record of a pair, the readers of parallel text, and the filters before training."""

from limelight.text.clean import CleanReport, SkipReport, clean
from limelight.text.pair import BadLine, Pair
from limelight.text.readers import read_lines, read_pairs, read_stream

__all__ = ["BadLine", "CleanReport", "Pair", "SkipReport", "clean", "read_lines", "read_pairs", "read_stream"]
