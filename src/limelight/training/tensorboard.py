"""TensorBoard, where it is installed (`pip install limelight[tensorboard]`)."""

from pathlib import Path
from typing import Any


def open_tensorboard(folder: Path, *, after: int) -> Any | None:
    """A writer for scalars, or None where TensorBoard is not installed. What stands there of updates `after` this one
    is no longer shown: they are done again."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=after + 1)
