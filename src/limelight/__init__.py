"""Limelight: attention-based models for translation and text, and tools to inspect their attention.

translator = limelight.load("runs/en-de")
print(translator.translate("A dog runs.").text)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from limelight.attention import register_score
    from limelight.evaluation.metrics import register_metric
    from limelight.layers import register_feed_forward, register_norm, register_positions
    from limelight.pipelines.classifier import Classification, Classifier
    from limelight.pipelines.generator import Generated, TextGenerator
    from limelight.pipelines.load import load, load_classifier, load_generator, load_mask_filler, load_translator
    from limelight.pipelines.mask_filler import Filled, MaskFiller
    from limelight.pipelines.translator import Translation, Translator
    from limelight.training.loggers import register_logger
    from limelight.training.optimization.loss import register_loss
    from limelight.training.tasks.task import register_task

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
    "register_feed_forward",
    "register_logger",
    "register_loss",
    "register_metric",
    "register_norm",
    "register_positions",
    "register_score",
    "register_task",
]


def __getattr__(name: str) -> Any:
    """Import names that need torch lazily, so that `limelight --help` is fast."""
    places = {
        "Classification": "pipelines.classifier",
        "Classifier": "pipelines.classifier",
        "Filled": "pipelines.mask_filler",
        "Generated": "pipelines.generator",
        "MaskFiller": "pipelines.mask_filler",
        "TextGenerator": "pipelines.generator",
        "Translation": "pipelines.translator",
        "Translator": "pipelines.translator",
        "load": "pipelines.load",
        "load_classifier": "pipelines.load",
        "load_generator": "pipelines.load",
        "load_mask_filler": "pipelines.load",
        "load_translator": "pipelines.load",
        "register_feed_forward": "layers",
        "register_logger": "training.loggers",
        "register_loss": "training.optimization.loss",
        "register_metric": "evaluation.metrics",
        "register_norm": "layers",
        "register_positions": "layers",
        "register_score": "attention",
        "register_task": "training.tasks.task",
    }
    if name not in places:
        raise AttributeError(f"module 'limelight' has no attribute {name!r}")
    return getattr(import_module(f"limelight.{places[name]}"), name)
