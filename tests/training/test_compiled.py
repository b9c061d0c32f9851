"""Compiled passes: the same numbers for any sizes, from code that the sample batch alone decides, or none at all."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch, make_batch
from limelight.config import RecurrentConfig
from limelight.errors import UserError
from limelight.layers import feed_forward
from limelight.models.interface import Model
from limelight.training.optimization import update
from limelight.training.optimization.update import Compiled, compiled_or_none, require_compilable
from tests.models.helpers import decoder_only, make_model, transformer
from tests.training.helpers import go, log_of, tiny_run

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")


class Plain(Model):
    """What the checks of shapes do not wrap, as they do all models of Limelight."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 3)

    def forward(self, batch: Batch) -> Tensor:
        return self.table(batch.target_in).relu()


def of_rows(rows: int) -> Batch:
    return make_batch([[1] * 4] * rows, [[2] * 6] * rows, source_padding=8, target_padding=8)


@pytest.mark.slow
def test_a_transformer_is_one_graph_whatever_comes_after_the_sample(seed: int) -> None:
    """The random numbers of dropout are the model's, too. Sizes for which the code does not hold compile nothing."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-m", "tests.training.compiled_steps"]
    found = json.loads(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert found["graphs"] == [1, 1]
    assert found["calls"] == 4  # not the batch of one row, nor the one whose target has few positions
    assert found["apart"] < 1e-5


def test_a_batch_for_which_the_code_does_not_hold_is_computed_without() -> None:
    calls = []

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]):
        def run(*given: Tensor):
            calls.append(given)
            return graph.forward(*given)

        return run

    model = Plain()
    learner = Compiled(model, backend=backend)
    learner.compile(of_rows(5))
    calls.clear()
    for rows, compiled_calls in ((7, 1), (1, 1), (4, 2)):
        torch.testing.assert_close(learner(of_rows(rows)), model(of_rows(rows)))
        assert len(calls) == compiled_calls


def test_a_machine_that_cannot_compile_trains_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says why; the weights are those of a run that did not ask."""

    def broken(*_: object) -> None:
        raise RuntimeError("no C++ compiler\nand much more")

    monkeypatch.setattr(update.Compiled, "compile", broken)
    said: list[str] = []
    assert compiled_or_none(make_model(transformer()), CPU, said.append) is None
    assert "cannot be compiled on this machine (no C++ compiler" in said[1]
    config = tiny_run(tmp_path / "text", max_steps=2, validate_every=2)
    go(config, tmp_path / "asked", compile=True)
    go(config, tmp_path / "plain")
    losses = [[line["loss"] for line in log_of(tmp_path / name) if "loss" in line] for name in ("asked", "plain")]
    assert losses[0] == losses[1] != []


def test_a_model_that_cannot_be_compiled_as_a_whole_is_refused(tmp_path: Path) -> None:
    model = RecurrentConfig(embedding=7, hidden=8, score_size=5)
    with pytest.raises(UserError, match=r"training\.compile=true is for .* and this is a Recurrent"):
        go(tiny_run(tmp_path / "text", model), tmp_path / "run", compile=True)
    assert not (tmp_path / "run" / "config.yaml").exists()
    require_compilable(make_model(decoder_only()))
    with pytest.raises(
        UserError, match=r"training\.compile=true: model\.decoder_autoreg=ssru runs a loop .*; leave one"
    ):
        require_compilable(make_model(transformer(decoder_autoreg="ssru")))


def test_dropout_draws_the_same_bytes_where_it_is_traced(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for traced in (False, True):
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda traced=traced: traced)
        torch.manual_seed(seed)
        found.append(feed_forward._random_bytes(1003))
    assert torch.equal(*found)
