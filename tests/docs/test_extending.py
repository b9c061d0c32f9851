"""The parts of docs/extending.md, as plugins outside the package: runs train and resume with each."""

import re
import sys
from pathlib import Path

import pytest

from limelight.config import load_config, override
from limelight.config.models import FEED_FORWARDS
from limelight.errors import UserError
from limelight.evaluation.metrics import METRICS
from limelight.pipelines.load import load_translator
from limelight.plugins import load_plugin
from limelight.training.optimization.loss import LOSSES
from limelight.training.preflight import check_run
from limelight.training.tasks.task import TASKS
from tests.training.helpers import go, last_weights, log_of, tiny_run

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
PARTS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for registry in (LOSSES, TASKS, METRICS, FEED_FORWARDS):
        monkeypatch.setattr(registry, "parts", dict(registry.parts))
    for number, part in enumerate(PARTS):
        file = tmp_path / f"part_of_page_{number}.py"
        file.write_text(part, encoding="utf-8")
        sys.modules.pop(file.stem, None)
        load_plugin(str(file))


def test_each_part_has_at_most_30_lines() -> None:
    assert len(PARTS) == 4
    assert all(part.count("\n") <= 30 for part in PARTS)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("precision", "changed"),
    [
        ("fp32", "training.loss=focal"),
        ("fp32", "training.task=word dropout"),
        ("bf16", "training.loss=focal"),
        ("fp32", "model.feed_forward=squared"),
    ],
)
def test_a_part_of_the_page_trains_and_resumes(precision: str, changed: str, tmp_path: Path) -> None:
    given = {"precision": precision, "metrics": ("length_ratio",), "best_by": "length_ratio"}
    plain = tiny_run(tmp_path / "text", max_steps=4, **given)
    config = override(plain, [changed])
    go(config, tmp_path / "run", max_steps=2)
    go(load_config(tmp_path / "run" / "config.yaml"), tmp_path / "run", max_steps=4)
    go(config, tmp_path / "whole")
    go(plain, tmp_path / "plain")
    assert last_weights(tmp_path / "run") == last_weights(tmp_path / "whole") != last_weights(tmp_path / "plain")
    validations = [line for line in log_of(tmp_path / "run") if line["event"] == "validation"]
    assert validations
    assert all(0 <= line["length_ratio"] <= 1 for line in validations)
    for precision in ("fp32", "int8"):
        load_translator(tmp_path / "run", precision=precision).translate("a dog")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"loss": "x"}, "unknown loss 'x'; choose from cross_entropy, or name its --plugin"),
        ({"task": "x"}, "unknown task 'x'"),
        ({"metrics": ("x",)}, "unknown metric 'x'"),
        ({"best_by": "x"}, "training.best_by=x: .* bleu, chrf, loss, accuracy, macro_f1"),
    ],
)
def test_an_unknown_name_is_refused_before_any_work(changed: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        check_run(tiny_run(tmp_path / "text", **changed), tmp_path / "run")
