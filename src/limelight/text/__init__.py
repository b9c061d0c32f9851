"""Strings only: the record of a pair, and the filters before training."""

from limelight.text.clean import CleanReport, SkipReport, clean
from limelight.text.pair import BadLine, Pair

__all__ = ["BadLine", "CleanReport", "Pair", "SkipReport", "clean"]
