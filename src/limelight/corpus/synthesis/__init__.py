"""Synthetic training text: distilled and back-translated corpora."""

from limelight.corpus.synthesis.job import Job, Limits, Part
from limelight.corpus.synthesis.synthesize import report_table, survey_job, synthesize

__all__ = ["Job", "Limits", "Part", "report_table", "survey_job", "synthesize"]
