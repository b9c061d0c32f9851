"""A real service in a process of its own for clients that know nothing of it. `make test-clients` installs them."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.serving.keys import add_key
from tests.cli.conftest import corpus, trained  # noqa: F401
from tests.cli.test_serve import served


class Place(NamedTuple):
    """Where the service is, and what it should say."""

    url: str
    key: str
    translator: Translator


@pytest.fixture(scope="session")
def folder(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """The run with languages that the clients know: they refuse codes that they have never heard of."""
    import shutil

    copy = tmp_path_factory.mktemp("served") / "en-de"
    shutil.copytree(trained, copy)
    for config in copy.rglob("config.yaml"):
        config.write_text(config.read_text().replace("target: lumi", "target: de"))
    return copy


@pytest.fixture(scope="session")
def place(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    key = add_key(keys, "client")
    with served("--model", f"tiny={folder}", "--keys", str(keys), "--max-characters", "5000") as (url, _):
        yield Place(url, key, load_translator(folder))


@pytest.fixture(scope="session")
def bundled() -> Iterator[str]:
    """The address of a service with the bundled model, without keys."""
    with served("--model", "tatoeba-en-de-fr", "--trust-proxy", "127.0.0.1") as (url, _):
        yield url
