"""Which configuration a budget suits."""

from pathlib import Path

import pytest

from limelight.training import preflight
from limelight.training.preflight import choose_by_budget
from limelight.training.tasks import prepare_data
from tests.training.helpers import tiny_run, with_training


@pytest.mark.parametrize(
    ("bounds", "pace", "chosen"),
    [
        ({"max_steps": 3}, 9.0, "short"),
        ({"max_steps": 30_000}, 9.0, "long"),
        ({"max_steps": None, "max_minutes": 1.0}, 1.0, "short"),
        ({"max_steps": None, "max_minutes": 1.0}, 1e-3, "long"),
        ({"max_steps": 30_000, "max_minutes": 1.0}, 1.0, "short"),  # the nearer bound
    ],
)
def test_few_epochs_take_the_short_one(
    bounds: dict[str, float], pace: float, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "measured_pace", lambda *_: pace)
    config = with_training(tiny_run(tmp_path / "text"), **bounds).model_copy(update={"recipe": "long"})
    lines: list[str] = []
    prepared = prepare_data(config, tmp_path / "run", lines.append)
    lines.clear()
    short = config.model_copy(update={"recipe": "short"})
    assert choose_by_budget(config, short, prepared, lines.append).recipe == chosen
    assert len(lines) == 1
    assert lines[0].endswith(f"epochs of 61 pairs: recipe {chosen} (--recipe chooses another)")
