"""Import and export of other tools' model formats, with name tables that are complete in both directions."""

from limelight.interop.ctranslate2 import export_argos, export_ctranslate2
from limelight.interop.folders import export_limelight
from limelight.interop.huggingface import export_huggingface
from limelight.interop.readers import import_model

__all__ = [
    "export_argos",
    "export_ctranslate2",
    "export_huggingface",
    "export_limelight",
    "import_model",
]
