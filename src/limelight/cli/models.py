"""Finding and loading the models of a command."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight.cli import options
from limelight.cli.arguments import option
from limelight.cli.outcome import note
from limelight.errors import UserError
from limelight.storage.layout import DEFAULT, bundled_models

if TYPE_CHECKING:
    import torch

    from limelight.config import RunConfig
    from limelight.pipelines.translator import Translator


@dataclass(frozen=True)
class Machine:
    """The device and the threads of a command."""

    device: str | None = options.DEVICE
    threads: int | None = option("Number of CPU threads. Default: one per core.", "N", panel=options.COMPUTING, min=1)

    def settings(self) -> dict[str, Any]:
        """The same as settings of a run."""
        return {"training.device": self.device, "training.threads": self.threads}

    def begin(self, *, aside: bool = False) -> torch.device:
        """Apply process-wide settings, before anything is loaded. Loops are compiled when they are first called, or
        `aside`. Raises `UserError` for an unavailable device."""
        from limelight.decoding.ahead import compile_here
        from limelight.memory import hold_memory_for_work

        hold_memory_for_work()
        _tell_compiling()
        if not aside:
            compile_here()
        import torch

        from limelight.models.families import choose_device

        if self.threads is not None:
            torch.set_num_threads(self.threads)
        return choose_device(self.device or "auto")


def use_plugins(files: Sequence[str]) -> None:
    """Import these plugins here and in all child processes. Raises `UserError` for a file that cannot be imported."""
    from limelight import plugins

    os.environ[plugins.FILES] = os.pathsep.join(str(Path(file).absolute()) for file in files)
    plugins.load_plugins()


def _leave_out_compiler() -> None:
    """Do not import numba: importing it and its cached loops takes longer than translating a few sentences without;
    compiling uncached loops takes half a minute. Has no effect if numba is already imported."""
    if "limelight.inference.linear" not in sys.modules:
        modules: dict[str, Any] = sys.modules
        modules.setdefault("numba", None)  # None in sys.modules prevents an import


def _tell_compiling() -> None:
    """Print a message while loops are compiled, at the first use on a machine."""
    try:
        from limelight.inference.cpu.jit import NOTICES
    except ImportError:  # numba is an extra; without it nothing is compiled
        return
    NOTICES.append(
        lambda: note(
            "the first use on this machine compiles the inner loops: about 20 seconds, more if the machine is busy, "
            "and once only; NUMBA_CACHE_DIR says where they are kept"
        )
    )


@contextmanager
def lasting() -> Iterator[None]:
    """A context for creating objects that live as long as the process, such as the half million of importing torch: it
    disables garbage collection and then freezes the objects. Collections during the import and at exit would take a
    third of a short command's time (`python -m benchmarks.latency startup`).
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@lasting()
def find_models(
    folders: list[str] | None,
    *,
    bundled: bool = False,
    only_one: str = "",
    pairs: bool = False,
) -> tuple[list[str], list[RunConfig]]:
    """The folders of `--model` and their configurations, before weights are read.

    If none is named and `bundled` is set, the bundled model is used and reported. `only_one` says why there may be only
    one model; with `pairs` it must be a model that translates.

    Raises `UserError` if no model is named or bundled, and if a folder has no model.
    """
    if not folders and bundled and DEFAULT in bundled_models():
        note(f"no --model is given: {DEFAULT}, which comes with limelight")
        folders = [DEFAULT]
    if not folders or "" in folders:
        raise UserError("missing model: give --model RUN, the folder that `limelight train --out RUN` wrote")
    from limelight.config import load_config
    from limelight.storage.layout import CONFIG, find_model

    configs = [load_config(find_model(folder) / CONFIG) for folder in folders]
    if only_one and len(folders) > 1:
        raise UserError(f"{len(folders)} models: {only_one}; give --model once")
    if pairs and "pairs" not in configs[0].model.learns_from:
        raise UserError(f"{folders[0]}: this model does not translate; name one that does")
    return folders, configs


def made_with(
    folders: Sequence[str], device: str | None, precision: str | None = None, *, shortlist: bool = False
) -> dict[str, Any]:
    """What translations depend on besides text and options, as plain values for JSON: the files of the models, by their
    SHA-256, the precision on this machine, and the version of Limelight."""
    from limelight import __version__
    from limelight.storage.layout import model_sums

    return {
        "models": {
            str(number): files for number, files in enumerate(model_sums(folders, shortlist=shortlist), start=1)
        },
        "precision": resolved_precision(folders, device, precision)[1],
        "limelight": __version__,
    }


def resolved_precision(folders: Sequence[str], device: str | None, named: str | None) -> tuple[str, str]:
    """The precision that models are searched in on this machine, and the same with the kind of its products."""
    from limelight.config import load_config
    from limelight.storage.layout import CONFIG, find_model

    models = [find_model(folder) for folder in folders]
    stored = load_config(models[0] / CONFIG).weights
    if named in ("fp32", "bf16") or (named is None and stored == "fp32"):  # torch need not be imported
        return named or stored, named or stored
    from limelight.inference.prepare import arithmetic_of, search_precision
    from limelight.models.families import choose_device
    from limelight.pipelines.load import keeps_quality

    chosen = choose_device(device or "auto")
    if named == "auto":
        named = "int8" if chosen.type == "cpu" and all(map(keeps_quality, models)) else None
    named = named or search_precision(stored, chosen)
    return named, arithmetic_of(named, chosen)


@lasting()
def open_translator(
    folders: list[str],
    machine: Machine,
    precision: str | None = None,
    *,
    shortlist: bool = False,
    brief: bool = False,
    aside: bool = False,
) -> Translator:
    """The translator of these folders, for a process that does nothing else. For a `brief` task compiled loops are not
    used; with `aside` they are used once they have been compiled."""
    if brief:
        _leave_out_compiler()
    device = machine.begin(aside=aside)
    import torch

    from limelight.decoding.ahead import compile_aside
    from limelight.pipelines.load import load_translator

    if device.type == "cpu":
        compile_aside(note)
    threads = torch.get_num_threads()
    translator = load_translator(folders, device, precision=precision, shortlist=shortlist, threads=threads)
    _say_if_slow(precision, translator.device)
    return translator


@lasting()
def open_model(loader: str, folders: list[str], machine: Machine, precision: str | None = None) -> Any:
    """The object of a model that does not translate, by a function of `pipelines.load`."""
    device = machine.begin()
    from limelight.pipelines import load

    if len(folders) > 1:
        raise UserError(f"{len(folders)} models: this command takes one model; give --model once")
    opened = getattr(load, loader)(folders[0], device, **({"precision": precision} if precision else {}))
    _say_if_slow(precision, device)
    return opened


def _say_if_slow(precision: str | None, device: torch.device) -> None:
    """Print a warning if the requested precision has no hardware support."""
    from limelight.inference.prepare import slow_precision

    if precision and (slow := slow_precision(precision, device)):
        note(slow)
