"""Limelight: attention-based models, from text to a translation, to more text, and to what was attended to.

import limelight
translator = limelight.load("runs/en-de")
print(translator.translate("A dog runs.").text)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limelight.pipelines.generator import Generated, TextGenerator
    from limelight.pipelines.load import load
    from limelight.pipelines.translator import Translation, Translator

__version__ = "0.1.0"
__all__ = ["Generated", "TextGenerator", "Translation", "Translator", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """Import torch only when something is asked for that needs it: `limelight --help` must not wait for it."""
    places = {
        "Generated": "generator",
        "TextGenerator": "generator",
        "Translation": "translator",
        "Translator": "translator",
        "load": "load",
    }
    if name not in places:
        raise AttributeError(f"module 'limelight' has no attribute {name!r}")
    return getattr(import_module(f"limelight.pipelines.{places[name]}"), name)
