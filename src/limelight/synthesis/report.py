"""The report of a corpus: counts for display, and as JSON next to the corpus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from limelight.evaluation.summary import versions
from limelight.files import sha256
from limelight.synthesis.filters import REASONS

FORMAT = 1
SUFFIX = ".json"


@dataclass(slots=True)
class Tally:
    """Counts of the work so far. They are what a half-done corpus goes on with."""

    inputs: int = 0
    chunks: int = 0
    translated: int = 0
    """Texts that were really translated."""
    pairs: int = 0
    tokens: int = 0
    """Target tokens of these translations, the best ones alone, ends not counted."""
    seconds: float = 0.0
    left_out: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))

    @property
    def tokens_per_second(self) -> float:
        """Target tokens per second of translating, choosing and writing."""
        return self.tokens / self.seconds if self.seconds else 0.0


def report_values(
    output: Path, content: Path, tally: Tally, *, unreadable: int, made_of: Mapping[str, Any]
) -> dict[str, Any]:
    """The report on the corpus `output`, whose bytes are in `content`, as plain values."""
    counts = asdict(tally)
    del counts["chunks"]
    return {
        "format": FORMAT,
        "output": output.name,
        "sha256": sha256(content),
        **counts,
        "unreadable": unreadable,
        "seconds": round(tally.seconds, 3),
        "tokens_per_second": round(tally.tokens_per_second, 1),
        "made_of": dict(made_of),
        "versions": versions(),
    }


def report_path(output: Path) -> Path:
    """Where the report on a corpus is."""
    place = output.resolve() if output.is_symlink() else output
    return place.with_name(place.name + SUFFIX)


def read_report(output: Path) -> dict[str, Any]:
    """The report on a corpus that is complete; empty where there is none, or none that can be read."""
    try:
        values = json.loads(report_path(output).read_text(encoding="utf-8"))
        known = values["format"] == FORMAT and isinstance(values["made_of"], dict)
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return values if known and output.is_file() else {}


def report_table(values: Mapping[str, Any]) -> str:
    """The report for people: lines of plain text."""
    lines = [f"{values['output']}: {values['pairs']:,} pairs from {values['inputs']:,} inputs"]
    for reason, words in REASONS.items():
        if values["left_out"][reason]:
            lines.append(f"  left out {values['left_out'][reason]:,}: {words}")
    if values["unreadable"]:
        lines.append(f"  skipped {values['unreadable']:,}: the line cannot be read")
    speed = f"{values['tokens']:,} tokens in {values['seconds']:.1f} s, {values['tokens_per_second']:,.0f} tokens/s"
    lines.append(f"  {values['translated']:,} texts translated: {speed}")
    return "\n".join(lines)
