"""File formats: one parser for each, from which pairs for training and units of documents come."""

from limelight.formats.lines import read_lines, read_stream
from limelight.formats.pairs import names_languages, read_pairs

__all__ = ["names_languages", "read_lines", "read_pairs", "read_stream"]
