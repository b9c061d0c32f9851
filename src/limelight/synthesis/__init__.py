"""New training text from a model: distilled and back-translated corpora."""

from limelight.synthesis.job import Job, Limits, Part
from limelight.synthesis.report import report_table
from limelight.synthesis.synthesize import survey_job, synthesize

__all__ = ["Job", "Limits", "Part", "report_table", "survey_job", "synthesize"]
