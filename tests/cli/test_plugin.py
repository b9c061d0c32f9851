"""`limelight --plugin FILE COMMAND`: a score of one's own from training to serving."""

import sys
from pathlib import Path

import pytest

from limelight import plugins
from limelight.config.models import SCORES
from tests import forked
from tests.cli.conftest import Limelight, settings
from tests.test_plugins import as_before  # noqa: F401

SCORE = """
from limelight.attention import Dot, register_score

@register_score("twice")
class Twice(Dot):
    def compare(self, queries, prepared):
        return 2 * super().compare(queries, prepared)
"""


def test_a_score_from_training_to_translation(
    limelight: Limelight, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = tmp_path / "own_score.py", tmp_path / "run"
    file.write_text(SCORE, encoding="utf-8")
    train = ["train", "--train", corpus / "train.tsv", "--valid", corpus / "valid.tsv", "--source", "en", "--target"]
    train += ["lumi", "--recipe", "tiny", *settings(), "--set", "model.score=twice", "--max-steps", "2", "--quiet"]
    unknown = limelight(*train, "--out", folder)
    assert (unknown.code, "model.score: must be one of dot" in unknown.err) == (2, True), unknown.err
    trained = limelight("--plugin", file, *train, "--out", folder)
    assert trained.code == 0, trained.err
    translated = limelight("translate", "--model", folder, "--text", "a dog")
    assert (translated.code, translated.err) == (0, ""), "the score is still registered"

    del SCORES.parts["twice"]
    monkeypatch.setenv(plugins.FILES, "")
    missing = limelight("translate", "--model", folder, "--text", "a dog")
    assert missing.code == 2
    assert "or of a plugin that --plugin FILE names, not 'twice'" in missing.err
    child = [sys.executable, "-m", "limelight", "--plugin", str(file), "translate", "--model", str(folder)]
    again = forked.run([*child, "--text", "a dog"])
    assert (again.returncode, again.stdout) == (0, translated.out), again.stderr
