"""Models of other tools, written and read: tables of names, complete in both directions."""

from limelight.interop.ctranslate2 import QUANTIZATIONS, export_ctranslate2
from limelight.interop.folders import export_limelight
from limelight.interop.huggingface import export_huggingface, import_huggingface

__all__ = ["QUANTIZATIONS", "export_ctranslate2", "export_huggingface", "export_limelight", "import_huggingface"]
