"""Limelight: attention-based models for translation and text, and tools to inspect their attention.

translator = limelight.load("runs/en-de")
print(translator.translate("A dog runs.").text)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limelight.pipelines.classifier import Classification, Classifier
    from limelight.pipelines.generator import Generated, TextGenerator
    from limelight.pipelines.load import load, load_classifier, load_generator, load_mask_filler, load_translator
    from limelight.pipelines.mask_filler import Filled, MaskFiller
    from limelight.pipelines.translator import Translation, Translator

__version__ = "0.1.0"
__all__ = [
    "Classification",
    "Classifier",
    "Filled",
    "Generated",
    "MaskFiller",
    "TextGenerator",
    "Translation",
    "Translator",
    "__version__",
    "load",
    "load_classifier",
    "load_generator",
    "load_mask_filler",
    "load_translator",
]


def __getattr__(name: str) -> Any:
    """Import names that need torch lazily, so that `limelight --help` is fast."""
    places = {
        "Classification": "classifier",
        "Classifier": "classifier",
        "Filled": "mask_filler",
        "Generated": "generator",
        "MaskFiller": "mask_filler",
        "TextGenerator": "generator",
        "Translation": "translator",
        "Translator": "translator",
        "load": "load",
        "load_classifier": "load",
        "load_generator": "load",
        "load_mask_filler": "load",
        "load_translator": "load",
    }
    if name not in places:
        raise AttributeError(f"module 'limelight' has no attribute {name!r}")
    return getattr(import_module(f"limelight.pipelines.{places[name]}"), name)
