"""Published models in a folder that `make test-published` fills. Without it these tests are skipped."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def published() -> Path:
    folder = os.environ.get("LIMELIGHT_PUBLISHED")
    if not folder:
        pytest.skip("no published models here: make test-published")
    return Path(folder)
