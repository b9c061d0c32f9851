"""What every test runs under: one thread, no network, a shuffled order, and a fresh seed that is printed on failure.

`LIMELIGHT_TESTS=all` (`make test-all`) adds the checks of tensor shapes in every call, and all cases of grids.
`LIMELIGHT_SEED=n` repeats the order and all random draws of a run.
"""

import gc
import os
import random
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from itertools import groupby
from pathlib import Path
from zlib import crc32

import pytest

os.environ["LIMELIGHT_COMPILE"] = "here"  # results do not depend on when a child is done, in commands either
os.environ["HF_HUB_OFFLINE"] = "1"  # read at import: a test that would fetch something fails instead

import torch
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

TESTS = Path(__file__).parent
EVERYTHING = os.environ.get("LIMELIGHT_TESTS") == "all"
LATER = {"against", "examples", "learns", "torture"}
"""Folders whose tests are `slow`..."""
KEPT = {"test_disk.py", "test_hostile_folders.py", "test_kills.py", "test_signals.py"}
"""...but for these: a kill, a full disk, a signal, a hostile folder."""
GRIDS = {"decoding", "inference", "inspection", "models", "properties", "training"}
"""Folders in which the cases of a test are models times settings."""
SMALL_GRID = 16
COMPILED = {
    f"limelight.inference.cpu.{name}"
    for name in [
        "attention",
        "best_tokens",
        "forward",
        "lanes",
        "network",
        "products",
        "search",
        "ssru",
        "vectors",
        "weights",
    ]
}


class Unchecked(MetaPathFinder):
    """Finds the modules that numba compiles before the import hook does: numba cannot read the code of checks."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, path) if name in COMPILED else None


def check_shapes() -> None:
    """Before the first import of the package: every call with an annotated tensor checks its shapes from now on."""
    source = TESTS.parent / "src"
    paths = (path for path in source.glob("limelight/**/*.py") if "from limelight.shapes import" in path.read_text())
    modules = [".".join(path.relative_to(source).with_suffix("").parts) for path in paths]
    install_import_hook(modules, "beartype.beartype")
    sys.meta_path.insert(0, Unchecked)


if EVERYTHING:
    check_shapes()

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
    max_examples=50 if EVERYTHING else 25,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("repeated", settings.get_profile("limelight"), derandomize=True)
settings.load_profile("repeated" if os.environ.get("LIMELIGHT_SEED") else "limelight")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--torture`: what `make torture` adds."""
    parser.addoption("--torture", action="store_true", help="run tests/torture with its full figures")


def pytest_configure() -> None:
    """One order for all workers, which inherit it."""
    os.environ.setdefault("LIMELIGHT_ORDER", os.environ.get("LIMELIGHT_SEED") or str(secrets.randbelow(2**31)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"order of the tests: LIMELIGHT_ORDER={os.environ['LIMELIGHT_ORDER']}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files in random order, and the tests of a file; of large grids a part, unless everything is asked for."""
    for item in items:
        if item.path.relative_to(TESTS).parts[0] in LATER and item.path.name not in KEPT:
            item.add_marker("slow")
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    draw = random.Random(os.environ["LIMELIGHT_ORDER"])
    draw.shuffle(files)
    for tests in files:
        draw.shuffle(tests)
    items[:] = [item for tests in files for item in tests]
    if not EVERYTHING:
        left_out = {item for tests in files for item in beyond_a_third(tests)}
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=list(left_out))


def beyond_a_third(tests: list[pytest.Item]) -> Iterator[pytest.Item]:
    """What is left out of the many cases of a test of models: always the same cases, and others for each test, so that
    every model is in some tests."""
    names = {test: test.nodeid.partition("[")[0] for test in tests}
    counts = Counter(name for test, name in names.items() if not test.get_closest_marker("slow"))
    for test in tests:
        is_grid = test.path.relative_to(TESTS).parts[0] in GRIDS and counts[names[test]] > SMALL_GRID
        if is_grid and crc32(test.nodeid.encode()) % 3:
            yield test


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Draws begin anew before the fixtures of each test, so that no result depends on what ran before in this process.
    `@pytest.mark.needs("bf16")` skips a test where the CPU has no such instructions, naming them."""
    torch.manual_seed(int(os.environ.get("LIMELIGHT_SEED") or 1))

    from limelight.capabilities import cpu_capability

    for mark in item.iter_markers("needs"):
        for name in mark.args:
            available, reason = cpu_capability(name)
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
