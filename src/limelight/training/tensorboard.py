"""TensorBoard, where it is installed (`pip install limelight[tensorboard]`)."""

from pathlib import Path
from typing import Any


def open_tensorboard(folder: Path) -> Any | None:
    """A writer for scalars, or None where TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder))
