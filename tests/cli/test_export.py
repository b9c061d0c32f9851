"""`limelight export`: the command line around the conversions."""

from pathlib import Path

from tests.cli.conftest import Limelight


def test_a_run_goes_to_ctranslate2(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    ended = limelight(
        "export", "--model", trained, "--to", "ctranslate2", "--quantization", "int8", "-o", tmp_path / "a"
    )
    assert ended == (0, "", f"wrote {tmp_path / 'a'}; its README.md shows how to use it\n")
    assert (tmp_path / "a" / "model.bin").stat().st_size > 1000
    ended = limelight("export", "--model", trained, "--to", "ctranslate2", "--output", tmp_path / "b")
    assert ended.code == 0
    page = (tmp_path / "b" / "README.md").read_text()
    assert "ctranslate2.Translator" in page
    assert "| recipe | tiny |" in page


def test_a_run_becomes_a_small_folder_of_our_own(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    """A quarter of the bytes."""
    ended = limelight("export", "--model", trained, "--to", "limelight", "--quantization", "int8", "-o", tmp_path / "a")
    assert ended == (0, "", f"wrote {tmp_path / 'a'}; its README.md shows how to use it\n")
    sizes = [folder.joinpath("model.safetensors").stat().st_size for folder in (trained / "best", tmp_path / "a")]
    assert sizes[0] > 2 * sizes[1]  # so narrow a model has as many scales and vectors as matrices; see test_compact
    assert "weights: int8" in (tmp_path / "a" / "config.yaml").read_text()
