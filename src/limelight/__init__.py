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
    from limelight.pipelines.encoders import Classification, Classifier, Filled, MaskFiller
    from limelight.pipelines.generator import Generated, TextGenerator
    from limelight.pipelines.load import load, load_classifier, load_generator, load_mask_filler, load_translator
    from limelight.pipelines.translator import Translation, Translator
    from limelight.training.loggers import register_logger
    from limelight.training.optimization.loss import register_loss
    from limelight.training.tasks.task import register_task

__version__ = "0.2.0"
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


_MODULES = {
    "attention": ("register_score",),
    "evaluation.metrics": ("register_metric",),
    "layers": ("register_feed_forward", "register_norm", "register_positions"),
    "pipelines.encoders": ("Classification", "Classifier", "Filled", "MaskFiller"),
    "pipelines.generator": ("Generated", "TextGenerator"),
    "pipelines.load": ("load", "load_classifier", "load_generator", "load_mask_filler", "load_translator"),
    "pipelines.translator": ("Translation", "Translator"),
    "training.loggers": ("register_logger",),
    "training.optimization.loss": ("register_loss",),
    "training.tasks.task": ("register_task",),
}


def __getattr__(name: str) -> Any:
    """Import names that need torch lazily, so that `limelight --help` is fast."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"limelight.{module}"), name)
    raise AttributeError(f"module 'limelight' has no attribute {name!r}")
