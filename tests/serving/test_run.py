"""A service begins with its keys."""

import asyncio
from io import StringIO
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.serving.keys import read_keys
from limelight.serving.logs import Log
from limelight.serving.server import Plan, run_service


@pytest.mark.parametrize("content", [None, "{", "[]"])
def test_a_service_does_not_begin_without_the_keys_it_is_to_have(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "keys.json"
    if content is not None:
        path.write_text(content)
        with pytest.raises(UserError):
            read_keys(path)
    with pytest.raises(UserError, match=r"keys\.json"):
        asyncio.run(run_service(Plan({}, port=0, keys=path), Log(StringIO())))
