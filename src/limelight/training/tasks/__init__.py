"""What can be learned: each kind of model from its kind of text."""

from limelight.training.tasks.choose import Tokenized, build_task, fresh_model, prepare_data

__all__ = ["Tokenized", "build_task", "fresh_model", "prepare_data"]
