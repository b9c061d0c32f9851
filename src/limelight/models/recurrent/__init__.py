"""The recurrent encoder-decoder in three wirings: fixed context vector, Bahdanau's attention, Luong's attention."""

from limelight.models.recurrent.model import Recurrent, build_recurrent

__all__ = ["Recurrent", "build_recurrent"]
