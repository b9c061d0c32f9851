"""What every test runs under: checked shapes, one thread, no network, and a fresh seed that is printed on failure."""

import gc
import os
import secrets
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

import pytest

os.environ["LIMELIGHT_COMPILE"] = "here"  # results do not depend on when a child is done, in commands either
os.environ["HF_HUB_OFFLINE"] = "1"  # read at import: a test that would fetch something fails instead

import torch
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

from tests.shape_checks import check_each_kind_once

SOURCE = Path(__file__).parents[1] / "src"


def modules_with_shapes() -> list[str]:
    """The modules that annotate tensors: those that import `limelight.shapes`."""
    paths = (path for path in SOURCE.glob("limelight/**/*.py") if "from limelight.shapes import" in path.read_text())
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in paths]


# Must stand before the first import of the package: from here on every call with an annotated tensor checks its shapes.
# The other modules are left to mypy: checking their calls, too, took four more seconds in each process to import them,
# and a tenth more processor time in their tests.
check_each_kind_once()
install_import_hook(modules_with_shapes(), "beartype.beartype")


COMPILED = {f"limelight.inference.cpu.{name}" for name in ("attention", "best_tokens", "int8", "largest_sums", "simd")}


class AsItIs(MetaPathFinder):
    """Finds, before the hook does, the modules whose functions numba compiles: it reads their code, which the checks
    would wrap in code that it cannot read. What their arrays hold is checked by who calls them."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path) if name in COMPILED else None


sys.meta_path.insert(0, AsItIs)

# With numba where it is installed: a command with a brief text would leave it out of the whole process.
import limelight.inference.prepare  # noqa: E402, F401

torch.set_num_threads(1)  # the suite runs in several processes; more threads each would only wait for one another
# Seeds for devices that are not there are kept for later with the whole stack of calls as text: two milliseconds for
# each `torch.manual_seed`, which begins every test.
for device in (torch.cuda, torch.xpu, torch.mtia):
    if not device.is_available():
        device.manual_seed_all = lambda seed: None


def fsync(handle: int) -> None:
    """No test cuts the power, and so none would notice that nothing waits for the disk; a closed file is an error."""
    os.fstat(handle)


os.fsync = fsync
settings.register_profile(
    "limelight",
    deadline=None,  # machines differ; a slow example is no fault
    max_examples=50,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("repeated", settings.get_profile("limelight"), derandomize=True)
settings.load_profile("repeated" if os.environ.get("LIMELIGHT_SEED") else "limelight")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--torture`: what `make torture` adds."""
    parser.addoption("--torture", action="store_true", help="run tests/torture with its full figures")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Draws begin anew before the fixtures of each test, so that no result depends on what ran before in this process.
    `@pytest.mark.needs("bf16")` skips a test where the CPU has no such instructions, naming them."""
    torch.manual_seed(int(os.environ.get("LIMELIGHT_SEED") or 1))

    from limelight.capabilities import cpu_capability

    for mark in item.iter_markers("needs"):
        for name in mark.args:
            _, available, reason = cpu_capability(name)
            if not available:
                pytest.skip(f"needs {name}: {reason}")


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: collections of garbage need not visit it again and again."""
    gc.freeze()


@pytest.fixture
def seed() -> int:
    """A fresh seed, set for torch too; `LIMELIGHT_SEED=n` repeats a run. Pytest shows the print when the test fails."""
    number = int(os.environ.get("LIMELIGHT_SEED") or secrets.randbelow(2**31))
    print(f"seed: LIMELIGHT_SEED={number}")
    torch.manual_seed(number)
    return number
