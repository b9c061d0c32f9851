"""Limelight: attention-based sequence-to-sequence models, from parallel text to a translation and what it attended to.

import limelight
translator = limelight.load("runs/en-de")
print(translator.translate("A dog runs.").text)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limelight.decoding.translate import Translation, Translator
    from limelight.decoding.translate import load_translator as load

__version__ = "0.1.0"
__all__ = ["Translation", "Translator", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """Import torch only when a translator is asked for: `limelight --help` must not wait for it."""
    if name not in ("Translation", "Translator", "load"):
        raise AttributeError(f"module 'limelight' has no attribute {name!r}")
    from limelight.decoding import translate

    return translate.load_translator if name == "load" else getattr(translate, name)
