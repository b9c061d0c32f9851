"""Memory that runs out: the run ends with advice, at once, and goes on from its last checkpoint where there is more."""

import io
import re
import resource
import shutil
import signal
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from limelight.cli.app import run as command
from limelight.config import TransformerConfig, dump_config
from limelight.training.checkpoints.checkpoint import find_damage
from tests.torture.conftest import Measured
from tests.torture.processes import Called, differences, megabytes, told_by
from tests.training.helpers import checkpoints_of, tiny_run

NARROW = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=8_000, dropout=0.2)
WORKLOADS = {
    "a batch that does not fit": (NARROW, {"d_ff": 40_000}, 900),
    "weights that do not fit": (NARROW.model_copy(update={"d_model": 256}), {"d_model": 512}, 60),
}
"""Nearly all memory goes to the activations of a batch, or to weights, gradients, Adam's moments, and storing them. The
changed model, which needs more, is for the full form; the number is `batching.tokens`."""


def command_within(arguments: Sequence[str], room: int | None, tell: Callable[[Any], None]) -> None:
    """A command line that may take so many bytes more than its process has at its start; tells code and message."""
    size = int(1024 * 1024 * megabytes("VmSize"))
    if room is not None:
        resource.setrlimit(resource.RLIMIT_AS, (size + room, resource.RLIM_INFINITY))
    with redirect_stderr(io.StringIO()) as said:
        code = command(arguments)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    tell((code, said.getvalue()))


def kept_its_word(code: int, said: str, run: Path) -> bool:
    """Ended by itself with one line of advice, and everything that was saved is whole."""
    last = said.strip().splitlines()[-1] if said.strip() else ""
    advice = re.fullmatch(r"limelight: out of memory \(.*\)\. .*batching\.tokens.*training\.accumulate.*", last)
    clean = "Traceback" not in said and "panicked" not in said
    return code == 1 and advice is not None and clean and is_whole(run)


def is_whole(run: Path) -> bool:
    """Whether there are checkpoints, none of them damaged."""
    return bool(checkpoints_of(run)) and not any(find_damage(place) for place in checkpoints_of(run))


def test_memory_runs_out(full: bool, measured: Measured, tmp_path: Path) -> None:
    for name, (model, changed, tokens) in list(WORKLOADS.items())[: None if full else 1]:
        folder = tmp_path / name
        config = tiny_run(tmp_path, model.model_copy(update=changed if full else {}), max_steps=2, checkpoint_every=1,
                          validate_every=2, accumulate=1)  # fmt: skip
        config = config.model_copy(update={"batching": config.batching.model_copy(update={"tokens": tokens})})
        folder.mkdir()
        (folder / "run.yaml").write_text(dump_config(config), encoding="utf-8")
        whole, base = folder / "whole", folder / "base"
        first = ["train", "--config", str(folder / "run.yaml"), "--out", str(whole), "--max-steps", "1"]
        assert told_by(command_within, first, None)[0] == 0
        shutil.copytree(whole, base)
        assert told_by(command_within, ["train", "--out", str(whole), "--max-steps", "2"], None)[0] == 0
        # from hardly any room to what is needed: with some of it, a library aborts its process, which none can prevent
        rooms, held, ended, aborted = (10, 20, 40, 80, 160, 320) if full else (40,), 0, 0, 0
        for room in rooms:
            run = folder / f"run-{room}"
            shutil.copytree(base, run)
            rest = ["train", "--out", str(run), "--max-steps", "2"]
            code, told, _ = Called(command_within, rest, room << 20).end()
            print(room, code, told)
            good = is_whole(run) if told is None else told[0] == 0 or kept_its_word(*told, run)
            aborted += told is None and code == -signal.SIGABRT
            ended += told is not None and told[0] == 1
            goes_on = told_by(command_within, rest, None)[0] == 0 and not differences(run, whole)
            held += good and goes_on and (told is not None or code == -signal.SIGABRT)
        assert ended, "limits that are enough, or end a library, prove nothing"
        note = f"RLIMIT_AS; out of memory {ended} times, a library aborted {aborted} times"
        measured("T8", f"{name}: exit code 1, one line of advice, then on to the last bit", held=held, of=len(rooms),
                 note=note)  # fmt: skip
