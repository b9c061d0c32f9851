"""Plugins: what is imported, and what is registered."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from limelight import plugins
from limelight.attention import Dot, register_score
from limelight.config import RunConfig, config_from
from limelight.config.models import SCORES
from limelight.errors import UserError

SCORE = """
from limelight.attention import Dot, register_score

@register_score("own")
class Own(Dot):
    pass
"""


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No plugin is loaded before or after a test."""
    monkeypatch.setattr(plugins, "_loaded", {plugins.GROUP})
    monkeypatch.setenv(plugins.FILES, "")  # put back afterwards
    before = dict(SCORES.parts)
    yield
    SCORES.parts.clear()
    SCORES.parts.update(before)
    sys.modules.pop("own_score", None)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own_score.py"
    path.write_text(SCORE, encoding="utf-8")
    return path


def own() -> RunConfig:
    return config_from({"model": {"family": "transformer", "score": "own"}})


def test_a_file_is_imported_when_its_score_is_needed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(plugins.FILES, str(file))
    config_from({"model": {"family": "transformer"}})
    assert "own_score" not in sys.modules
    assert own().model.score == "own"
    assert issubclass(SCORES.find("own"), Dot)


def test_an_installed_plugin_is_found(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_loaded", set())
    monkeypatch.setattr(sys, "path", [str(file.parent), *sys.path])
    entry = EntryPoint("scores", "own_score", plugins.GROUP)
    monkeypatch.setattr("limelight.plugins.entry_points", lambda group: [entry] if group == plugins.GROUP else [])
    assert own().model.score == "own"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("import nothing_of_this_name", "cannot be imported: ModuleNotFoundError"),
        ("def", "cannot be imported: SyntaxError"),
        (SCORE.replace('"own"', '"dot"'), "there is already a score 'dot'"),
    ],
)
def test_a_faulty_file_is_refused(content: str, fault: str, file: Path) -> None:
    file.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=rf"own_score\.py: .*{fault}"):
        plugins.load_plugin(str(file))
    assert "own_score" not in sys.modules


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a plugin is an existing Python file"):
        plugins.load_plugin(str(tmp_path / "missing.py"))
    (tmp_path / "notes.txt").write_text("own", encoding="utf-8")
    with pytest.raises(UserError, match="a plugin is an existing Python file"):
        plugins.load_plugin(str(tmp_path / "notes.txt"))
    (tmp_path / "json.py").write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="there is already a module json"):
        plugins.load_plugin(str(tmp_path / "json.py"))


def test_a_class_can_be_defined_again() -> None:
    first, second = (type("Own", (Dot,), {"__module__": "__main__"}) for _ in range(2))
    register_score("own")(first)
    register_score("own")(second)
    assert SCORES.find("own") is second
    with pytest.raises(UserError, match="there is already a score 'own'"):
        register_score("own")(type("Other", (Dot,), {"__module__": "__main__"}))
