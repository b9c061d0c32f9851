"""Model folders at several updates: which stay, and that a run which was killed keeps the same."""

import hashlib
from pathlib import Path

import pytest
import torch

import limelight
from limelight.files import PARTIAL
from limelight.storage.layout import SNAPSHOTS, WEIGHTS, find_snapshots
from limelight.storage.weights import read_weights
from limelight.training.checkpoints.checkpoint import CHECKPOINTS
from limelight.training.checkpoints.keep import thinned
from tests.training.helpers import go, tiny_run
from tests.training.interrupted import Killed, interruption, kill


def sums(run: Path) -> dict[int, str]:
    found = {}
    for step, folder in find_snapshots(run).items():
        weights, _ = read_weights(folder / WEIGHTS)  # the order of the notes in the file is not always the same
        whole = b"".join(weights[name].numpy().tobytes() for name in sorted(weights))
        found[step] = hashlib.sha256(whole).hexdigest()
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_those_that_stay_are_even(count):
    there = []
    for step in range(1, 200):
        there = thinned({*there, step}, count)
        assert there[-1] == step
        assert min(step, max(1, count // 2)) <= len(there) <= count
        gaps = [after - before for before, after in zip([0, *there], there, strict=False)]
        assert max(gaps) <= 4 * -(-step // count), "no part of the run is left out"


def test_each_is_a_model_folder_of_its_update(tmp_path):
    config = tiny_run(tmp_path / "text", max_steps=6, keep_snapshots=3, validate_every=2, average=1)
    go(config, tmp_path / "run")
    there = find_snapshots(tmp_path / "run")
    assert list(there) == [2, 4, 6]
    translator = limelight.load(there[6])
    last, _ = read_weights(sorted((tmp_path / "run" / CHECKPOINTS).iterdir())[-1] / "weights.safetensors")
    for name, tensor in translator.model.state_dict().items():
        if name in last:
            torch.testing.assert_close(tensor, last[name], rtol=0, atol=0)
    assert translator.translate("one two").text is not None
    assert translator.attention("one two").kinds
    assert len(set(sums(tmp_path / "run").values())) == 3
    assert "update 4" in (there[4] / "README.md").read_text()
    assert not list((tmp_path / "run" / SNAPSHOTS).glob(f"*{PARTIAL}"))


@pytest.mark.parametrize(("moment", "count"), [("update", 6), ("model snapshot", 2), ("final", 1)])
def test_a_run_that_was_killed_keeps_the_same_ones(tmp_path, moment, count):
    """Whatever was lost: the same updates, and bit for bit the same weights, as without the kill."""
    config = tiny_run(tmp_path / "text", max_steps=8, keep_snapshots=4, checkpoint_every=3, validate_every=2,
                      bleu_sentences=0, best_by="loss", average=1)  # fmt: skip
    go(config, tmp_path / "whole")
    with interruption(moment, count, kill), pytest.raises(Killed):
        go(config, tmp_path / "killed")
    for folder in find_snapshots(tmp_path / "killed").values():
        limelight.load(folder)  # what has its name is whole
    go(config, tmp_path / "killed")
    assert sums(tmp_path / "killed") == sums(tmp_path / "whole")
    assert list(sums(tmp_path / "whole")) == [2, 4, 6, 8]
    assert not list((tmp_path / "killed").rglob(f"*{PARTIAL}"))
