"""`benchmarks/gpu.py` on a CPU, with the smallest sizes: what it counts, and that no part takes the others with it."""

import importlib
import json
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from benchmarks import gpu
from limelight.config import TransformerConfig
from tests.models.helpers import batch_of, make_model

CPU = torch.device("cpu")
SMALL = TransformerConfig(encoder_layers=2, decoder_layers=3, d_model=12, heads=2, d_ff=19, dropout=0.0)


@pytest.mark.parametrize("way", ["eager", "fed"])
def test_training_counts_what_was_done(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "device_rate", lambda device: 1e12)
    found = gpu.training("tiny", CPU, 0.0, way=way, tokens=300)
    assert found["updates"] == 1
    assert found["parameters"] > 1_000_000
    assert found["waits_for_the_device"] is None
    pieces = found["target_tokens_per_second"] * found["milliseconds_per_update"] / 1e3
    assert pieces == pytest.approx(round(pieces), abs=0.5)
    assert 0 < pieces <= 300
    assert found["share_of_ceiling"] == pytest.approx(found["tflops"] / found["ceiling_tflops"], abs=1e-3)


def test_decoding_counts_the_pieces_of_both_searches() -> None:
    found = gpu.decoding("tiny", CPU, 0.0)
    assert found["greedy: tokens_per_second"] > 0
    assert found["beam 4: tokens_per_second"] > 0


def test_operations_are_those_of_the_products(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against torch's own counter, which sees every product of a forward pass over rows without padding, those of
    attention apart."""
    from torch.utils.flop_counter import FlopCounterMode

    model = make_model(SMALL)
    batch = batch_of(model, [[3] * 10] * 2, [[3] * 6] * 2)
    # The readable path: the kernel is not counted.
    monkeypatch.setattr(importlib.import_module("limelight.attention.attend"), "MAX_UNFUSED_QUERIES", 100)
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        model.project(model(batch))
    pairs = SMALL.encoder_layers * 11 * 11 + SMALL.decoder_layers * (7 + 11) * 7
    attention = 2 * 4 * pairs * SMALL.d_model
    assert gpu.training_operations(SMALL, model.output_size, batch) == 3 * (counter.get_total_flops() - attention)


def test_a_part_that_fails_or_takes_too_long_leaves_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    now = gpu.time.monotonic()
    assert gpu._part([], 5.0, over=now + 3) == {"failed": "no time was left for it"}
    for error in (subprocess.TimeoutExpired([], 11.0), subprocess.CalledProcessError(1, [], stderr="box\n out of it")):
        monkeypatch.setattr(subprocess, "run", Mock(side_effect=error))
        found = gpu._part(["--size", "tiny"], 11.0, over=now + 60)
        assert found in ({"failed": "not done after 11 seconds"}, {"failed": "box out of it"})


def test_the_command_prints_tables_and_writes_them_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = {
        "eager": {"updates": 3, "target_tokens_per_second": 1234.5, "milliseconds_per_update": 7.0, "tflops": 0.5,
                  "share_of_ceiling": 0.25, "waits_for_the_device": None, "peak_memory_mib": None},
        "decoding": {"failed": "out of memory"},
    }  # fmt: skip
    monkeypatch.setattr(gpu, "_part", lambda words, *_: figures[words[3]])
    gpu.main(
        size=["tiny"], device="cpu", way=["eager", "decoding"], seconds=2.0, tokens=0, results=tmp_path, alone=False
    )
    printed = capsys.readouterr().out
    assert "| tiny | eager | 1,234 | 7 | 0.5 | 0.25 | - | - |" in printed
    assert printed.endswith("tiny, decoding: out of memory\n")
    stored = json.loads((tmp_path / "gpu-on-cpu.json").read_text(encoding="utf-8"))
    assert [(part["size"], part["way"]) for part in stored["parts"]] == [("tiny", "eager"), ("tiny", "decoding")]
    assert stored["table"] in printed
