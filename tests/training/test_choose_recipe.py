"""Which configuration a budget suits."""

from pathlib import Path

import pytest
import torch

from limelight.config import load_config
from limelight.training import preflight
from limelight.training.preflight import choose_by_budget, measured_pace
from limelight.training.run import train
from limelight.training.tasks import prepare_data
from tests.training.helpers import go, last_weights, tiny_run, trace_of, with_training

BATCHES = 18  # of an epoch of this text, about


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


def test_the_pace_is_measured(tmp_path: Path) -> None:
    config = tiny_run(tmp_path / "text")
    prepared = prepare_data(config, tmp_path / "run", lambda _: None)
    assert 0 < measured_pace(config, prepared) < 5
    assert not list((tmp_path / "run").glob("checkpoints*"))


def test_measuring_leaves_no_trace_in_the_run(tmp_path: Path) -> None:
    """The run that follows is the one of its configuration, and its folder says which that is."""
    config = with_training(tiny_run(tmp_path / "text"), max_minutes=600.0, max_steps=3)
    go(config, tmp_path / "named")
    other = config.model_copy(update={"recipe": "long", "model": config.model.model_copy(update={"dropout": 0.9})})
    torch.randn(17)
    train(other, tmp_path / "chosen", quiet=True, short=config)
    assert load_config(tmp_path / "chosen" / "config.yaml") == config
    assert trace_of(tmp_path / "chosen") == trace_of(tmp_path / "named")
    assert last_weights(tmp_path / "chosen") == last_weights(tmp_path / "named")
