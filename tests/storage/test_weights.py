"""Weights on disk: what is read is what was written, and what does not fit is refused as a whole."""

import errno
import os
import pickle
import re
import struct
from pathlib import Path

import pytest
import torch
from torch import nn

from limelight.config import RecurrentConfig, TransformerConfig
from limelight.errors import RunError, UserError
from limelight.storage.weights import assign_weights, named_weights, put_weights, read_weights, save_weights
from tests.models.helpers import make_model

TRANSFORMER = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=11, heads=3, head_size=2, d_ff=13)
CONFIGS = {
    **{tie: TRANSFORMER.model_copy(update={"tie": tie}) for tie in ("three-way", "two-way", "none")},
    "recurrent": RecurrentConfig(embedding=7, hidden=11, score_size=5),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_through_a_file_and_back_bit_for_bit(name: str, seed: int, tmp_path: Path) -> None:
    model, other = make_model(CONFIGS[name]), make_model(CONFIGS[name])
    save_weights(tmp_path / "w.safetensors", named_weights(model), {"step": "7"})
    read, notes = read_weights(tmp_path / "w.safetensors")
    assert notes == {"format": "pt", "step": "7"}
    put_weights(other, read, where="here")
    again = tmp_path / "again.safetensors"
    for _ in range(4):  # notes come in another order from each file, and the bytes are the same
        save_weights(again, named_weights(model), {"made": 'ä\x1f"/', **notes})
        content, notes = again.read_bytes(), read_weights(again)[1]
        save_weights(again, named_weights(model), dict(reversed(notes.items())))
        assert again.read_bytes() == content
    for (one_name, one), (two_name, two) in zip(model.named_parameters(), other.named_parameters(), strict=True):
        assert one_name == two_name
        assert torch.equal(one, two)


def test_everything_that_does_not_fit_is_listed_and_nothing_is_changed(seed: int) -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 5))
    before = {name: tensor.clone() for name, tensor in named_weights(model).items()}
    weights = {
        "0.weight": torch.zeros(3, 2),
        "0.bias": torch.zeros(7),
        "1.bias": torch.zeros(5),
        "2.bias": torch.zeros(1),
    }
    with pytest.raises(UserError) as caught:
        put_weights(model, weights, where="some/file")
    message = str(caught.value)
    assert message.startswith("some/file: these weights do not fit")
    for fault in ("missing 1.weight", "unknown 2.bias", "0.bias is (7,), expected (3,)"):
        assert fault in message
    assert all(torch.equal(tensor, before[name]) for name, tensor in named_weights(model).items())


def test_shared_parameters_stay_shared(seed: int) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    assign_weights(model, {name: tensor + 1 for name, tensor in named_weights(model).items()})
    assert model[1].weight is model[0].weight
    assert len(list(model.parameters())) == 3


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_refused_and_nothing_is_changed(broken: float, seed: int) -> None:
    model = nn.Linear(2, 3)
    before = named_weights(model)["weight"].clone()
    given = {"weight": torch.randn(3, 2), "bias": torch.tensor([0.5, broken, 0.5])}
    with pytest.raises(
        UserError, match=r"here: NaN or infinity in 1 of 2 tensors, first in bias: .* use another model"
    ):
        put_weights(model, given, where="here")
    assert torch.equal(model.weight, before)


@pytest.mark.parametrize("kind", [torch.float64, torch.bool, torch.float8_e4m3fn, torch.complex64])
def test_other_numbers_are_no_weights(kind: torch.dtype) -> None:
    given = {"weight": torch.zeros(3, 2).to(kind), "bias": torch.zeros(3)}
    with pytest.raises(UserError, match=rf"weight holds {kind}, no weights"):
        put_weights(nn.Linear(2, 3), given, where="here")


def described(tensors: str, *, length: int | None = None) -> bytes:
    """A file with this header, whose length may be a lie, and four bytes."""
    header = tensors.encode()
    return struct.pack("<Q", len(header) if length is None else length) + header + bytes(4)


ONE = '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", ""),
        (b"\xff" * 64, ""),
        (pickle.dumps({"weight": 1}), ""),
        (described(ONE, length=2**40), "a header of 1,099,511,627,776 bytes in a file of 66; the limit is 4,000,000"),
        (described(ONE, length=2**64 - 1), "a header of 18,446,744,073,709,551,615 bytes"),
        (described(" " * 4_000_001), "a header of 4,000,001 bytes in a file of 4,000,013; the limit is 4,000,000"),
        (described(ONE.replace("[0,4]", '[0,4],"dtype":"I32"')), ""),
        (described("[" * 100_000), ""),
        (described(ONE.replace("[1]", "[0,18446744073709551615]").replace("[0,4]", "[0,0]")), ""),
        (described(ONE.replace("[1]", "[1099511627776,1099511627776]")), ""),
        (described(ONE.replace("[1]", "[-1]")), "integer `-1`"),
        (described(ONE.replace("[1]", "[1.0]")), "floating point"),
        (described(ONE.replace("F32", "F12")), "F12"),
        (described(ONE.replace("[0,4]", "[0,8]")), ""),
        (described(ONE.replace("[0,4]", "[1,5]")), ""),
        (described('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'), ""),
        (described(ONE[:-1] + ',"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'), ""),
    ],
)
def test_a_header_that_lies_is_refused(content: bytes, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(UserError, match=rf"model\.safetensors: cannot read the weights: .*{re.escape(fault)[-60:]}"):
        read_weights(path)


def test_weights_beyond_the_memory_of_the_machine_are_not_begun(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(described(ONE))
    with open(path, "r+b") as file:
        file.truncate(2**42)  # a hole: nothing lies on the disk
    with pytest.raises(UserError, match=r"they take 4,398 GB, and this machine has .* of memory"):
        read_weights(path)


def test_a_file_cut_off_anywhere_is_refused(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_weights(path, {"weight": torch.randn(3, 5)})
    whole = path.read_bytes()
    for length in range(0, len(whole), 5):
        path.write_bytes(whole[:length])
        with pytest.raises(UserError, match=r"cannot read the weights: .* damaged or incomplete: copy it again"):
            read_weights(path)


def full_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_is_told_and_leaves_what_was_there(
    call: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, former = tmp_path / "model.safetensors", torch.randn(3)
    save_weights(path, {"weight": former})
    with monkeypatch.context() as patch:
        patch.setattr(os, call, full_disk)
        with pytest.raises(RunError, match=r"model\.safetensors: cannot write the weights: .*No space left on device"):
            save_weights(path, {"weight": torch.randn(3)})
    assert torch.equal(read_weights(path)[0]["weight"], former)
    assert list(tmp_path.iterdir()) == [path]
