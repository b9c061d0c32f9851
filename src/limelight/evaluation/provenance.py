"""Where figures come from: which text, and what computed them."""

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from limelight.text.pair import Pair


def files_of(pairs: Sequence[Pair]) -> dict[str, Any]:
    """The files of a test set, and how many pairs they hold."""
    return {"test_files": list(dict.fromkeys(pair.file for pair in pairs)), "pairs": len(pairs)}


def versions() -> dict[str, str]:
    """What computed the numbers; sacreBLEU's version also stands in each signature."""
    found = {"python": platform.python_version()}
    for package in ("limelight", "torch", "sacrebleu"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed, run from its sources"
    return found


def provenance_lines(provenance: Mapping[str, Any]) -> list[str]:
    """A line for each entry, for people."""
    return [f"{name}: {_listed(value)}" for name, value in provenance.items()]


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
