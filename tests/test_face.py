"""The Python face: a few names, found when they are asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

import limelight
from limelight.errors import UserError
from tests.interop.helpers import make_stored, make_tokenizers, transformer

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with a small random model."""
    folder = tmp_path_factory.mktemp("runs") / "en-de"
    make_stored(folder / "best", transformer(), make_tokenizers(joint=True))
    return folder


def test_the_names_are_those_of_the_package() -> None:
    """Each of them is that of the module it is defined in, and the typed loaders say what they give."""
    names = {name for name in limelight.__all__ if name != "__version__" and not name.startswith("register_")}
    assert names == {
        *("Classification", "Classifier", "Filled", "Generated", "MaskFiller", "TextGenerator", "Translation"),
        *("Translator", "load", "load_classifier", "load_generator", "load_mask_filler", "load_translator"),
    }
    for name in names:
        found = getattr(limelight, name)
        assert (found.__name__, found.__module__.rpartition(".")[0]) == (name, "limelight.pipelines")
        assert not name.startswith("load_") or hasattr(limelight, found.__annotations__["return"])


def test_another_name_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'limelight' has no attribute 'transalte'"):
        limelight.transalte  # noqa: B018


def test_importing_it_waits_for_nothing_heavy() -> None:
    code = "import sys, limelight; limelight.__version__; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", check=False).returncode == 0


def test_a_path_may_be_text_or_a_path_a_run_or_its_model_or_several(run: Path) -> None:
    texts = ["a dog runs", "two birds"]
    expected = limelight.load(run).translate(texts)
    for place in (str(run), run / "best", [run], [str(run), run / "best"]):
        assert [each.text for each in limelight.load(place).translate(texts)] == [each.text for each in expected]


def test_what_is_no_model_is_told_as_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no such model"):
        limelight.load(tmp_path / "nowhere")
    with pytest.raises(UserError, match="not a run or model folder"):
        limelight.load(tmp_path)
    with pytest.raises(UserError, match="no model to load"):
        limelight.load([])
