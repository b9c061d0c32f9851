"""A run that is interrupted goes on as if it had not been: the same losses and weights, to the last bit.

Dropout, accumulation, subword sampling, every augmentation and clipping are on; checkpoints, validations and epochs
end at different updates. The loss decides which model is best, as it falls at every validation. A killed process is
played here by an exception; `tests/torture` kills real ones, and leaves one thing after another out of a restore to see
the comparison fail.
"""

import os
import signal
from pathlib import Path

import pytest
from safetensors.torch import load_file

from limelight.config import AugmentationConfig, RunConfig
from limelight.signals import Stopped
from limelight.training.checkpoints.checkpoint import find_damage
from tests.training.helpers import (
    MODELS,
    checkpoints_of,
    go,
    last_weights,
    tiny_run,
    trace_of,
    with_training,
)
from tests.training.interrupted import Killed, interruption, kill

EVERY_AUGMENTATION = AugmentationConfig(**dict.fromkeys(AugmentationConfig().rates, 0.2))

Whole = tuple[RunConfig, Path]
"""A configuration, and the folder of a run that was never interrupted."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Whole]:
    """An uninterrupted run of each model."""
    found = {}
    for name, model in MODELS.items():
        folder = tmp_path_factory.mktemp(name)
        config = tiny_run(folder / "text", model, best_by="loss")
        batching = config.batching.model_copy(update={"tokens": 150})  # augmented pairs are longer
        changes = {"augmentation": EVERY_AUGMENTATION, "batching": batching}
        found[name] = config.model_copy(update=changes), folder / "whole"
        go(*found[name])
    return found


@pytest.fixture(params=MODELS)
def whole(request: pytest.FixtureRequest, runs: dict[str, Whole]) -> Whole:
    return runs[request.param]


@pytest.fixture
def transformer(runs: dict[str, Whole]) -> Whole:
    """For what cannot depend on the model."""
    return runs["transformer"]


def assert_same_run(run: Path, whole: Path) -> None:
    assert trace_of(run) == trace_of(whole)
    assert last_weights(run) == last_weights(whole)


@pytest.mark.parametrize(
    ("model", "stops"),
    [("transformer", [2, 2, 9]), pytest.param("recurrent", [3, 6, 7, 8, 11], marks=pytest.mark.slow)],
)
def test_stopping_at_a_bound_and_going_on(model: str, stops: list[int], runs: dict[str, Whole], tmp_path: Path) -> None:
    """On and beside the updates at which is saved and validated. The end of a run (a last validation, an average, the
    choice of the model) must leave no trace in what follows."""
    config, run = runs[model]
    for stop in stops:
        go(config, tmp_path / "run", max_steps=stop)
    go(config, tmp_path / "run")
    assert_same_run(tmp_path / "run", run)


KILLS = [
    ("vocabulary", 1), ("corpus", 1), ("alignments", 1), ("update", 1), ("update", 6), ("micro-batch", 8),
    ("part of a checkpoint", 2), ("part of a checkpoint", 7), ("old checkpoint", 3), ("snapshot", 2), ("snapshot", 3),
    ("best model", 2), ("validation", 3), ("final", 1),
]  # fmt: skip
OF_MODELS = [("update", 6), ("micro-batch", 8), ("part of a checkpoint", 7), ("best model", 2)]
"""Those at which there are weights, moments and draws of a model, each of which may restore its own wrongly."""


IN_SHORT = {("corpus", 1), ("update", 6), ("part of a checkpoint", 7), ("best model", 2)}


@pytest.mark.parametrize(
    ("model", "moment", "count"),
    [
        *(pytest.param("transformer", *each, marks=[] if each in IN_SHORT else pytest.mark.slow) for each in KILLS),
        *(pytest.param("recurrent", *each, marks=pytest.mark.slow) for each in OF_MODELS),
    ],
)
def test_killed_at_any_moment(model: str, moment: str, count: int, runs: dict[str, Whole], tmp_path: Path) -> None:
    config, run = runs[model]
    with interruption(moment, count, kill), pytest.raises(Killed):
        go(config, tmp_path / "run")
    go(config, tmp_path / "run")
    assert_same_run(tmp_path / "run", run)


def test_frozen_parts_keep_their_weights_and_have_no_moments(transformer: Whole, tmp_path: Path) -> None:
    """In half precision, with a tied output matrix; with resuming."""
    frozen = ("embeddings", "encoder.layers.0.attention")
    config = with_training(transformer[0], freeze=frozen, precision="bf16", max_steps=6)
    go(config, tmp_path / "whole")
    go(config, tmp_path / "run", max_steps=4)
    go(config, tmp_path / "run")
    assert_same_run(tmp_path / "run", tmp_path / "whole")
    go(config, tmp_path / "one", max_steps=1)
    first, last = (checkpoints_of(tmp_path / name)[-1] for name in ("one", "run"))
    weights = [load_file(each / "weights.safetensors") for each in (first, last)]
    kept = {name for name in weights[0] if weights[0][name].equal(weights[1][name])}
    moments = {name.partition(":")[0] for name in load_file(last / "optimizer.safetensors")}
    assert kept == {name for name in kept if "embedding" in name or name.startswith(frozen[1])}
    assert len(kept) == 9
    assert moments == weights[0].keys() - kept


def test_a_rate_that_fits_a_bound_of_updates_is_the_same_after_a_kill(transformer: Whole, tmp_path: Path) -> None:
    config = with_training(transformer[0], fit_to_budget=True, warmup=4000, validate_every=None)
    go(config, tmp_path / "whole")
    with interruption("update", 8, kill), pytest.raises(Killed):
        go(config, tmp_path / "run")
    go(config, tmp_path / "run")
    assert_same_run(tmp_path / "run", tmp_path / "whole")
    assert trace_of(tmp_path / "run") != trace_of(transformer[1])


@pytest.mark.parametrize(
    ("moment", "count", "number"),
    [
        ("micro-batch", 8, signal.SIGTERM), ("part of a checkpoint", 3, signal.SIGINT),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (
            ("update", 5, signal.SIGINT), ("validation", 2, signal.SIGINT), ("final", 1, signal.SIGTERM),
            ("snapshot", 2, signal.SIGTERM),
        )),
    ],
)  # fmt: skip
def test_told_to_stop_it_saves_and_goes_on(
    moment: str, count: int, number: int, transformer: Whole, tmp_path: Path
) -> None:
    config, run = transformer
    stop = interruption(moment, count, lambda: os.kill(os.getpid(), number))
    with stop, pytest.raises(Stopped) as caught:
        go(config, tmp_path / "run")
    assert caught.value.exit_code == 128 + number
    assert find_damage(checkpoints_of(tmp_path / "run")[-1]) == ""
    go(config, tmp_path / "run")
    assert_same_run(tmp_path / "run", run)


def test_after_a_damaged_checkpoint_it_goes_on_from_the_one_before(transformer: Whole, tmp_path: Path) -> None:
    config, run = transformer
    go(config, tmp_path / "run", max_steps=9)
    newest = checkpoints_of(tmp_path / "run")[-1]
    (newest / "optimizer.safetensors").write_bytes(b"\0" * 100)
    assert newest.name == "step-00000009"
    go(config, tmp_path / "run")
    assert_same_run(tmp_path / "run", run)
