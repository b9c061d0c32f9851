"""Files of shortlists are taken or refused."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from limelight.errors import RunError, UserError
from limelight.storage.tables import read_shortlist, save_shortlist
from limelight.storage.weights import save_weights
from tests.decoding.fakes import characters
from tests.decoding.test_shortlist import lists


def test_a_file_gives_back_what_was_written(seed: int, tmp_path: Path) -> None:
    shortlist = lists({1: [7, 3], 2: [4]}, always=[10, 2], sources=11)
    save_shortlist(tmp_path / "s", shortlist, characters())
    read = read_shortlist(tmp_path / "s", characters())
    assert read.candidates.tolist() == shortlist.candidates.tolist()
    assert read.always.tolist() == [10, 2]
    with pytest.raises(RunError, match="cannot write"):
        save_shortlist(tmp_path / "none" / "s", shortlist, characters())


def test_one_that_is_not_there_names_the_way(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"s: there is no shortlist yet; `limelight shortlist --model RUN` learns it"):
        read_shortlist(tmp_path / "s", characters())


INTS = torch.zeros(11, 2, dtype=torch.int32)
NONE = torch.zeros(0, dtype=torch.int32)
HOSTILE: dict[str, tuple[dict[str, Tensor], str]] = {
    "nothing": ({}, "its tensors are {}, expected {'candidates': "),
    "another name": (
        {"candidates": INTS, "always": NONE, "x\x1b": NONE},
        "its tensors are .*'x.{1,4}': .*, expected ",
    ),
    "long": ({"candidates": INTS.long(), "always": NONE}, "'candidates': .torch.int64, 2"),
    "one axis": (
        {"candidates": INTS[:, 0].clone(), "always": NONE},
        "'candidates': .torch.int32, 1",
    ),
    "rows": ({"candidates": INTS[1:].clone(), "always": NONE}, "for 10 source tokens .*; the model has 11"),
    "many columns": ({"candidates": INTS[:, :1].repeat(1, 300), "always": NONE}, "with 300 candidates .* has 1 to 256"),
    "above": ({"candidates": INTS + 11, "always": NONE}, "ids from 0 to 11; .* ids from 0 to 10"),
    "always": ({"candidates": INTS, "always": torch.tensor([2**31 - 1], dtype=torch.int32)}, "to 2147483647"),
    "of no vocabulary": ({"candidates": INTS, "always": NONE}, "it was learned for another vocabulary"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_an_untrusted_file_is_refused_by_name(tmp_path: Path, case: str) -> None:
    tensors, fault = HOSTILE[case]
    save_weights(tmp_path / "s", tensors)
    with pytest.raises(UserError, match=f"^{tmp_path / 's'}: .*{fault}"):
        read_shortlist(tmp_path / "s", characters())
