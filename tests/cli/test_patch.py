"""`limelight patch`: table, values and picture."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Limelight


@pytest.fixture(autouse=True)
def small_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hardly trained models hardly prefer a token."""
    monkeypatch.setattr("limelight.inspection.patching.MIN_DIFFERENCE", 1e-9)


def test_two_texts_are_compared(limelight: Limelight, many: Path, tmp_path: Path) -> None:
    words = (
        "patch",
        "abc",
        "abd",
        "--model",
        many,
        "--from",
        "en",
        "--to",
        "de",
        "--target",
        "CBA",
        "--other-target",
        "DBA",
    )
    ended = limelight(*words)
    assert ended.code == 0, ended.err
    assert "log p(" in ended.out
    assert "embeddings" in ended.out
    for name in ("p.svg", "p.png", "p.pdf", "p.json"):
        ended = limelight(*words, "-o", tmp_path / name)
        assert ended == (0, "", f"wrote {tmp_path / name}\n")
    assert "abc" in (tmp_path / "p.svg").read_text()
    values = json.loads((tmp_path / "p.json").read_text())
    assert values["format"] == "limelight.patching"
    assert values["texts"] == ["abc", "abd"]


def test_what_is_refused(limelight: Limelight, many: Path, writing: Path, tmp_path: Path) -> None:
    for options, fault in (
        ([], 'give two texts, as in limelight patch "I saw it." "I see it.", or --pair number'),
        (["abc"], "give two texts"),
        (["abc", "abd", "--pair", "tense"], "give two texts"),
        (["abc", "abd", "--target", "CBA"], "--target and --other-target belong together"),
        (["abc", "abd", "-o", tmp_path / "p.gif"], "must be one of .png .svg .pdf .json"),
    ):
        ended = limelight("patch", *options, "--model", many)
        assert (ended.code, fault in ended.err) == (2, True), ended.err
    ended = limelight("patch", "abc", "abd", "--model", writing)
    assert (ended.code, "this model does not translate" in ended.err) == (2, True)
