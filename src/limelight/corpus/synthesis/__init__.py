"""Synthetic training text: distilled and back-translated corpora."""

from limelight.corpus.synthesis.synthesize import Job, Limits, Part, report_table, survey_job, synthesize

__all__ = ["Job", "Limits", "Part", "report_table", "survey_job", "synthesize"]
