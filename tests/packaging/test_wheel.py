"""The package as it is installed: built into a wheel, put into an empty environment, used away from the checkout and,
where the machine can take it away, without a network (`make test-wheel`).

What the package depends on is not installed again: the new environment reads it from the folder of this one, where the
checkout itself is known by an editable install that another environment does not follow.
"""

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
MAX_BYTES = 14 * 2**20
SENTENCES = (
    ("en", "de", "The cat sat on the mat.", "Katze"),
    ("en", "fr", "The cat is very small.", "chat"),
    ("de", "en", "Die Katze ist sehr klein.", "cat"),
    ("fr", "en", "Le chat est sur la table.", "cat"),
)


def without_network() -> list[str]:
    """What goes before a command so that it has no network; nothing where this is not permitted."""
    program = shutil.which("unshare")
    if program is None or subprocess.run([program, "-rn", "true"], capture_output=True, check=False).returncode:
        return []
    return [program, "-rn"]


def run(*command: str | Path, folder: Path, before: Sequence[str] = ()) -> str:
    """What the command prints; its messages where it fails. Nothing of this process's environment is handed on."""
    done = subprocess.run(
        [*before, *map(str, command)],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of what is in the checkout: a build writes into the folder it is made from."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source / name)
    shutil.copytree(CHECKOUT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
        "--wheel-dir", folder, source, folder=folder)  # fmt: skip
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def limelight(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed into an environment that has nothing else of its own."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, folder=environment)
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    found = run(python, "-c", "import limelight; print(limelight.__file__)", folder=environment)
    assert Path(found.strip()).is_relative_to(site)
    return environment / "bin" / "limelight"


def test_the_wheel_is_small_and_holds_the_bundled_model(wheel: Path) -> None:
    print(f"{wheel.name}: {wheel.stat().st_size / 2**20:.1f} MiB, without a network: {bool(without_network())}")
    assert wheel.stat().st_size <= MAX_BYTES
    names = zipfile.ZipFile(wheel).namelist()
    assert "limelight/box/tatoeba-en-de-fr/model.safetensors" in names
    assert not [name for name in names if name.endswith((".pyc", ".pt", ".bin"))]


@pytest.mark.parametrize(
    ("source", "target", "sentence", "word"), SENTENCES, ids=[f"{a}-{b}" for a, b, *_ in SENTENCES]
)
def test_it_translates_away_from_the_checkout(
    limelight: Path, tmp_path: Path, source: str, target: str, sentence: str, word: str
) -> None:
    found = run(limelight, "translate", sentence, "--from", source, "--to", target,
                folder=tmp_path, before=without_network())  # fmt: skip
    assert word in found


def test_the_card_is_there(limelight: Path, tmp_path: Path) -> None:
    card = run(limelight, "card", folder=tmp_path)
    assert "tatoeba.org" in card
    assert "manythings.org/anki" in card
