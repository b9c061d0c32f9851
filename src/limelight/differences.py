"""Differences between two trees of plain values, such as configurations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Difference = tuple[str, Any, Any]
"""Full name of a value (`section.key`), its old value and its new value."""


def differences(old: Any, new: Any, name: str = "") -> list[Difference]:
    """All values in which two nested mappings differ; None stands for a missing value."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = {**old, **new}
        nested = (differences(old.get(key), new.get(key), f"{name}.{key}" if name else key) for key in keys)
        return [difference for each in nested for difference in each]
    return [] if old == new else [(name, old, new)]


def describe_differences(changes: Sequence[Difference]) -> str:
    """Differences between stored and requested values, for a message."""
    return "; ".join(f"{name} is {old!r} there, {new!r} here" for name, old, new in changes)
