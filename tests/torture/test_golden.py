"""The losses of each model, as they were recorded: whoever changes a number in them does so knowingly.

`python -m tests.torture.test_golden` records them anew; the reason belongs into the message of the commit.
"""

import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.common import describe_machine
from limelight.config import ModelConfig, RecurrentConfig, TransformerConfig
from tests.torture.conftest import Measured
from tests.training.helpers import go, log_of, tiny_run

GOLDEN = Path(__file__).parent / "golden"
UPDATES = 20
ELSEWHERE = 1e-3
"""How far a loss may be from the recorded one, as a share of it, on another processor or with another torch."""

SMALL = {"embedding": 7, "hidden": 8, "dropout": 0.2}
MODELS: dict[str, ModelConfig] = {
    "transformer": TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=8, heads=2, d_ff=12, dropout=0.2),
    "bahdanau": RecurrentConfig(**SMALL, wiring="bahdanau", score="additive"),
    "luong": RecurrentConfig(**SMALL, wiring="luong", score="general", cell="lstm"),
    "fixed": RecurrentConfig(**SMALL, wiring="fixed"),
}


def losses_of(name: str, folder: Path) -> list[float]:
    """The loss of every update, in fp32 on one thread."""
    go(tiny_run(folder / "text", MODELS[name], max_steps=UPDATES, validate_every=UPDATES, threads=1), folder / "run")
    return [line["loss"] for line in log_of(folder / "run") if line["event"] == "training"]


def made_with() -> dict[str, Any]:
    """What rounding may depend on."""
    machine = {name: describe_machine()[name] for name in ("torch", "processor")}
    return {**machine, "instructions": torch.backends.cpu.get_cpu_capability()}


def near(loss: float, recorded: float, *, exact: bool) -> bool:
    """To the last bit where it can be asked for."""
    return loss == recorded if exact else math.isclose(loss, recorded, rel_tol=ELSEWHERE)


@pytest.mark.parametrize("name", MODELS)
def test_losses_are_as_recorded(name: str, measured: Measured, tmp_path: Path) -> None:
    golden = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    recorded = [float.fromhex(loss) for loss in golden["losses"]]
    exact = golden["made_with"] == made_with()
    pairs = list(zip(losses_of(name, tmp_path), recorded, strict=True))
    print(*(f"{loss.hex()}, recorded {expected.hex()}" for loss, expected in pairs), sep="\n")
    measured(
        "T13",
        f"{name}: losses as recorded",
        held=sum(near(loss, expected, exact=exact) for loss, expected in pairs),
        of=UPDATES,
        note="to the last bit" if exact else f"within {ELSEWHERE:g}: recorded with {golden['made_with']}",
    )


def record() -> None:
    """Write all of them anew."""
    torch.set_num_threads(1)
    GOLDEN.mkdir(exist_ok=True)
    for name in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            losses = losses_of(name, Path(folder))
        found = {"made_with": made_with(), "losses": [loss.hex() for loss in losses]}
        (GOLDEN / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(f"{name}: {losses[0]:.4f} to {losses[-1]:.4f}")


if __name__ == "__main__":
    record()
