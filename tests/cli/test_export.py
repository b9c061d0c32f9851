"""`limelight export`: the command line around the conversions."""

import json
from pathlib import Path
from typing import get_args

import pytest

from limelight.storage.weights import read_weights
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


def test_a_run_that_normalizes_first_is_refused_as_a_marian_model(
    limelight: Limelight, trained: Path, tmp_path: Path
) -> None:
    """The recipe's norm decides: the way out stands in the message."""
    ended = limelight("export", "--model", trained, "--to", "huggingface", "-o", tmp_path / "a")
    pre = "norm: pre" in (trained / "config.yaml").read_text()
    assert ended.code == (2 if pre else 0)
    assert ("--to ctranslate2" in ended.err) == pre
    assert (tmp_path / "a").exists() != pre
    if not pre:
        assert json.loads((tmp_path / "a" / "config.json").read_text())["model_type"] == "marian"
        assert "model.shared.weight" in read_weights(tmp_path / "a" / "model.safetensors")[0]


def test_a_run_becomes_a_small_folder_of_our_own(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    """A quarter of the bytes, and it translates in the numbers that it holds."""
    ended = limelight("export", "--model", trained, "--to", "limelight", "--quantization", "int8", "-o", tmp_path / "a")
    assert ended == (0, "", f"wrote {tmp_path / 'a'}; its README.md shows how to use it\n")
    sizes = [folder.joinpath("model.safetensors").stat().st_size for folder in (trained / "best", tmp_path / "a")]
    assert sizes[0] > 2 * sizes[1]  # so narrow a model has as many scales and vectors as matrices; see test_compact
    assert "weights: int8" in (tmp_path / "a" / "config.yaml").read_text()
    (tmp_path / "text.txt").write_text("A dog runs.\n", encoding="utf-8")
    whole, small = (
        limelight("translate", "--model", folder, "--precision", "fp32", "--json", tmp_path / "text.txt")
        for folder in (trained, tmp_path / "a")
    )
    assert json.loads(small.out)["score"] == pytest.approx(json.loads(whole.out)["score"], abs=0.2)


def test_what_the_command_line_refuses(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for words, fault in (
        (["--to", "onnx", "-o", out], "'onnx' is not one of 'argos', 'ctranslate2', 'huggingface'"),
        (["--to", "ctranslate2"], "missing option"),
        (["-o", out], "missing option"),
        (
            ["--to", "huggingface", "-o", out, "--quantization", "int8"],
            "--quantization int8: --to huggingface supports float32",
        ),
        (
            ["--to", "limelight", "-o", out, "--quantization", "int16"],
            "--to limelight supports float32, bfloat16, int8",
        ),
        (["--to", "ctranslate2", "-o", out, "--quantization", "int4"], "'int4' is not one of 'float32'"),
        (["--to", "ctranslate2", "-o", trained], f"{trained}: exists already"),
        (["--to", "ctranslate2", "-o", out, "--model", trained], "2 models: one is exported at a time"),
    ):
        ended = limelight("export", "--model", trained, *words)
        assert (ended.code, ended.out) == (2, "")
        assert fault in ended.err
    ended = limelight("export", "--to", "ctranslate2", "-o", out)
    assert (ended.code, ended.err) == (
        2,
        "limelight: missing model: give --model RUN, the folder that `limelight train --out RUN` wrote\n",
    )
    assert not out.exists()


def test_the_words_of_quantization_are_those_of_the_conversion() -> None:
    from limelight.cli.export import Quantization
    from limelight.interop import QUANTIZATIONS

    assert get_args(Quantization) == QUANTIZATIONS
