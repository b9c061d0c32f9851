"""Training tasks: one for each kind of model and text."""

from limelight.training.tasks.task import Tokenized, build_task, fresh_model, prepare_data

__all__ = ["Tokenized", "build_task", "fresh_model", "prepare_data"]
