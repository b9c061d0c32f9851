"""The labels of a classifier, stored with its weights as a list in `labels.json`."""

import json
from collections.abc import Sequence
from pathlib import Path

from limelight.errors import JOINERS, UserError, drawable, shown
from limelight.text.pair import Pair
from limelight.untrusted import read_plain

MAX_LABELS = 10_000
MAX_LABEL_LENGTH = 200
"""Maximum characters of a label."""

_MAX_BYTES = 10_000_000


def dump_labels(labels: Sequence[str]) -> str:
    """The labels as JSON, one per line."""
    return json.dumps(list(labels), ensure_ascii=False, indent=0) + "\n"


def read_labels(path: Path) -> tuple[str, ...]:
    """Read the labels in a file. Raises `UserError` if it is missing or is not a list of labels."""
    try:
        values = json.loads(read_plain(path, _MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: cannot read the labels: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}: not a list of labels: {shown(str(error))}") from None
    is_list = isinstance(values, list) and all(isinstance(value, str) for value in values)
    if fault := labels_fault(values) if is_list else "not a list of labels: an element is not text":
        raise UserError(f"{path}: {fault}")
    return tuple(values)


def labels_fault(labels: Sequence[str]) -> str:
    """Why these cannot be the labels of a classifier; empty if they can."""
    if not 2 <= len(labels) <= MAX_LABELS:
        return f"{len(labels):,} labels; a classifier chooses among 2 to {MAX_LABELS:,}"
    if len(set(labels)) < len(labels):
        return "a label is listed twice"
    return next(filter(None, map(label_fault, labels)), "")


def label_fault(label: str) -> str:
    """Why this is not a valid label; empty if it is. Labels are written to terminals and tables."""
    if label == label.strip(JOINERS + " ") and 0 < len(label) <= MAX_LABEL_LENGTH and label == drawable(label):
        return ""
    rule = f"1 to {MAX_LABEL_LENGTH} printable characters without white space at the ends"
    return f"{shown(repr(label), 40)} is not a valid label, which has {rule}"


def label_numbers(pairs: Sequence[Pair], labels: Sequence[str]) -> list[int]:
    """The index in `labels` of the target of each pair. Raises `UserError` with file and line for an unknown label."""
    numbers = {label: number for number, label in enumerate(labels)}
    for pair in pairs:
        if pair.target.strip() not in numbers:
            more = f" and {len(labels) - 10:,} more" if len(labels) > 10 else ""
            fault = f"{shown(pair.target.strip(), 40)!r} is not one of the labels in the training data"
            raise UserError(f"{pair.place}: {fault}: {', '.join(labels[:10])}{more}")
    return [numbers[pair.target.strip()] for pair in pairs]
