"""Every dependency has one version in the requirement files."""

import re
from pathlib import Path


def test_every_dependency_is_pinned() -> None:
    files = sorted(Path(__file__).parents[2].glob("requirements*.txt"))
    assert len(files) >= 4
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            assert re.match(r"(\S+==[\w.+!-]+( *;.*)?|-.*)? *(#.*)?$", line), f"{path.name}: {line}"
