"""Compiled functions: kept on disk where that can be, and for no instructions that are forbidden."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from limelight.inference.cpu import jit
from limelight.inference.cpu.jit import compiled


@pytest.mark.parametrize("broken", ["full", "nowhere"])
def test_without_a_place_for_the_cache_everything_works(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """A disk that is full, an installation and a home that cannot be written to."""

    def fail(*given: object) -> None:
        raise OSError(28, "No space left on device") if broken == "full" else RuntimeError("no locator available")

    monkeypatch.setattr(jit.FunctionCache, "save_overload" if broken == "full" else "__init__", fail)
    doubled = compiled(lambda values: 2 * values)
    assert doubled(np.float32(3.5)) == 7


@pytest.mark.slow
@pytest.mark.skipif("+avx2" not in jit.instruction_set(), reason="needs AVX2")
def test_numba_compiles_for_no_more_than_is_permitted() -> None:
    """`LIMELIGHT_CAPABILITIES` holds for the compiled loops, too."""
    code = "from limelight.inference.cpu.jit import instruction_set; print(instruction_set())"
    found = {}
    for level in ("avx2", "all"):
        environment = {**os.environ, "LIMELIGHT_CAPABILITIES": level}
        said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found[level] = said.stdout.strip().split(",")
    assert found["all"] == jit.instruction_set().split(",")
    assert "+avx2" in found["avx2"]
    assert not any(each.startswith("+avx512") for each in found["avx2"])


def test_what_is_kept_is_compiled_anew_when_shared_code_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def doubled(values: np.ndarray) -> float:
        return 2 * values.sum()

    def taken_from_disk() -> int:
        function = compiled(doubled)
        assert function(np.ones(3, np.float32)) == 6
        return sum(function.stats.cache_hits.values())

    assert [taken_from_disk(), taken_from_disk()] == [0, 1]
    monkeypatch.setattr(jit, "_shared_version", lambda: "another")
    assert [taken_from_disk(), taken_from_disk()] == [0, 1]


def test_a_filled_folder_that_cannot_be_written_to_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As that of an image: numba by itself takes only folders that it can write to."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def doubled(values: np.ndarray) -> float:
        return 2 * values.sum()

    def folder_and_hits() -> tuple[Path | None, int]:
        function = compiled(doubled)
        assert function(np.ones(3, np.float32)) == 6
        place = function._cache.cache_path
        return place and Path(place), sum(function.stats.cache_hits.values())

    folder, _ = folder_and_hits()

    def refuse(**options: object) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)  # how numba finds out whether it may write
    assert folder_and_hits() == (None, 0)
    (folder / jit._mark_name()).touch()
    assert folder_and_hits() == (folder, 1)
    monkeypatch.setattr(jit, "_mark_name", lambda: "complete-for-another-processor")
    assert folder_and_hits() == (None, 0)


def test_what_another_version_has_stored_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its index names types that are elsewhere now."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def doubled(values: np.ndarray) -> float:
        return 2 * values.sum()

    def hits() -> int:
        function = compiled(doubled)
        assert function(np.ones(3, np.float32)) == 6
        return sum(function.stats.cache_hits.values())

    assert hits() == 0
    [index] = tmp_path.rglob("*.nbi")
    version = numba.__version__
    index.write_bytes(pickle.dumps(version) + b"cno.such.module\nType\n.")
    assert [hits(), hits()] == [0, 1]


KERNELS = """
import sys
import numpy as np
from limelight.inference.cpu.weights import Norm, multiply, pack_rows, project_in

random = np.random.default_rng(7)
normal = lambda *shape: random.normal(size=shape).astype(np.float32)
weights = pack_rows(random.integers(-127, 128, size=(768, 256)).astype(np.int8), normal(768) ** 2, normal(768))
rows, norm, outputs = normal(16, 256), Norm(normal(256), normal(256), 1e-5, True), np.zeros((16, 768), np.float32)
if sys.argv[1:] == ["multiply first"]:
    multiply(rows, weights, outputs)
project_in(rows, norm, weights, outputs)
print(outputs.tobytes().hex())
print("numba.cpython.cmathimpl" in sys.modules, file=sys.stderr)  # one of the modules for its compiler
"""


@pytest.mark.slow
def test_bits_depend_neither_on_the_disk_nor_on_what_ran_before(tmp_path: Path) -> None:
    """Compiled just now, taken from disk, and taken from disk after what it calls: these were two results once. What is
    on disk needs nothing of the compiler."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    found = [
        subprocess.run(
            [sys.executable, "-c", KERNELS, *before], env=environment, capture_output=True, text=True, check=True
        )
        for before in ([], [], ["multiply first"])
    ]
    assert len({each.stdout for each in found}) == 1
    assert len(found[0].stdout) > 10_000
    assert [each.stderr.strip() for each in found] == ["True", "False", "False"]


def test_who_waits_for_compiling_is_told_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And not for what is taken from the disk."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    said: list[str] = []

    def raised(values: np.ndarray) -> float:
        return values.sum() + 1

    def call(*kinds: type) -> None:
        monkeypatch.setattr(jit, "NOTICES", [lambda: said.append("compiling")])
        function = compiled(raised)
        for kind in kinds:
            assert function(np.ones(3, kind)) == 4

    call(np.float32, np.float64)
    assert said == ["compiling"]
    call(np.float32)
    assert said == ["compiling"], "nothing was compiled"
    call(np.float32, np.int64)
    assert said == ["compiling"] * 2
