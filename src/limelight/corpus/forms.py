"""A translation as lines of output: the text, one JSON object, or the n-best with their scores."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limelight.pipelines.translation import Translation

FORMAT = 1
"""Of the objects of `json`."""


def shown(translation: Translation, number: int, form: str) -> list[str]:
    """The lines of `text`, `json` or `n-best`; `number` counts from 0."""
    if form == "json":
        return [json.dumps({"format": FORMAT, **asdict(translation)}, ensure_ascii=False)]
    if form == "n-best":
        return [f"{number} ||| {each.text} ||| {each.score:.4f}" for each in (translation, *translation.alternatives)]
    return [translation.text]
