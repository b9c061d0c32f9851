"""Where two trees of plain values, such as two configurations, differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Difference = tuple[str, Any, Any]
"""The full name of a value, as in `section.key`, with the old one and the new one."""


def differences(old: Any, new: Any, name: str = "") -> list[Difference]:
    """Every value that two mappings of mappings differ in; None stands for one that is missing."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = []
        for key in {**old, **new}:
            found += differences(old.get(key), new.get(key), f"{name}.{key}" if name else key)
        return found
    return [] if old == new else [(name, old, new)]


def describe_differences(found: Sequence[Difference]) -> str:
    """The differences between stored and requested values, for a message."""
    return "; ".join(f"{name} is {old!r} there, {new!r} here" for name, old, new in found)
