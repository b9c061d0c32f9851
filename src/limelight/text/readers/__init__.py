"""Readers of parallel text; `read_pairs` reads all formats."""

from limelight.text.readers.lines import read_lines, read_stream
from limelight.text.readers.pairs import names_languages, read_pairs

__all__ = ["names_languages", "read_lines", "read_pairs", "read_stream"]
