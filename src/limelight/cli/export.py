"""`limelight export` and `limelight import`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from limelight.cli import options
from limelight.cli.arguments import argument, option
from limelight.cli.models import find_models
from limelight.cli.outcome import command
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.inspection.head_importance import Head

EXAMPLES = """
  limelight export --model runs/en-de --to ctranslate2 \\
      --quantization int8 -o en-de-int8
  limelight export --model runs/en-de --to huggingface -o en-de-marian
  limelight export --model runs/en-de --to argos -o en_de.argosmodel
  limelight export --model runs/en-de --to limelight --quantization int8 \\
      -o en-de-small
  limelight export --model runs/en-de --to limelight --heads 3 \\
      --scores heads/heads.json -o en-de-3-heads
  limelight export --model runs/en-de --to limelight \\
      --without encoder.0.self=1,3 --without decoder.1.cross=0 -o less
"""
Quantization = Literal[
    "float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16"
]
"""The values of `--quantization`."""
WITH_LESS_MEMORY = "Exporting needs memory for two or three copies of the weights: use a machine with more"


OURS = {"float32": "fp32", "bfloat16": "bf16", "int8": "int8"}
"""The forms of Limelight's own folders for these values."""

To = Annotated[
    Literal["argos", "ctranslate2", "huggingface", "limelight"],
    option(
        "--to",
        "An Argos package, CTranslate2, a Marian model for transformers, or a smaller Limelight model folder.",
        "argos|ctranslate2|huggingface|limelight",
    ),
]
Folder = Annotated[Path, option("--output -o", "Output folder (with --to argos a file); it must not exist.", "FOLDER")]
Bits = Annotated[
    Quantization | None,
    option(
        "--quantization",
        "Format of stored weights. Default: float32; int8 is a quarter of its size.",
        "int8|float16|...",
    ),
]

HEADS = "Attention heads"
Heads = Annotated[
    int | None,
    option("--heads", "Keep N heads of each attention, those that --scores says are needed most.", "N", panel=HEADS),
]
Scores = Annotated[
    Path | None, option("--scores", "heads.json of `limelight heads` for this model.", "FILE", panel=HEADS)
]
Without = Annotated[
    list[str] | None,
    option(
        "--without", "Remove these heads, such as encoder.0.self=1,3. Can be repeated.", "ATTENTION=N,...", panel=HEADS
    ),
]


@command("export", EXAMPLES, WITH_LESS_MEMORY)
def export(
    to: To,
    output: Folder,
    model: options.OneModel = None,
    quantization: Bits = None,
    heads: Heads = None,
    scores: Scores = None,
    without: Without = None,
) -> None:
    """Convert a model for Argos Translate, CTranslate2 or transformers, or to a smaller Limelight model."""
    if (heads is None) != (scores is None):
        raise UserError(
            "--heads N and --scores FILE belong together: `limelight heads -o FOLDER` writes FOLDER/heads.json"
        )
    prunes = heads is not None or bool(without)
    if prunes and to != "limelight":
        raise UserError(f"--to {to}: heads are removed from Limelight's own models; use --to limelight")
    bits = quantization or "float32"
    if to == "huggingface" and quantization is not None:
        raise UserError(
            f"--quantization {bits}: a folder for transformers is float32; use --to ctranslate2 or limelight"
        )
    if to == "limelight" and bits not in OURS:
        raise UserError(f"--quantization {bits}: --to limelight supports {', '.join(OURS)}")
    folders, _ = find_models(model, bundled=True, one="one is exported at a time")
    from limelight import interop
    from limelight.storage.model import load_model

    stored, places = load_model(folders[0]), None
    if prunes:
        removed = [head for word in without or () for head in _named_heads(word)]
        removed += interop.least_needed(scores, stored, heads) if scores is not None and heads is not None else []
        stored, places = interop.prune_model(stored, removed)
    if to == "argos":
        interop.export_argos(stored, output, quantization=bits)
    elif to == "ctranslate2":
        interop.export_ctranslate2(stored, output, quantization=bits)
    elif to == "limelight":
        interop.export_limelight(stored, output, form=OURS[bits], places=places)
    else:
        interop.export_huggingface(stored, output)
    typer.echo(f"wrote {output}; its README.md shows how to use it", err=True)


def _named_heads(word: str) -> list[Head]:
    """The heads in `encoder.0.self=1,3`."""
    from limelight.inspection.head_importance import Head

    name, _, numbers = word.partition("=")
    if not re.fullmatch(r"[0-9]+(,[0-9]+)*", numbers):
        raise UserError(f"--without {word}: give an attention and its heads, as in encoder.0.self=1,3")
    return [Head(name, int(number)) for number in numbers.split(",")]


IMPORT_EXAMPLES = """
  limelight import translate-zh_en-1_9.argosmodel -o zh-en
  limelight import opus-mt-en-de --source en --target de -o en-de
  limelight translate --model en-de < input.txt > output.txt
"""

Foreign = Annotated[
    Path,
    argument(
        "An Argos package, a CTranslate2 folder, a Marian checkpoint, or Marian, M2M100 or NLLB of transformers.",
        "SOURCE",
    ),
]
Run = Annotated[Path, option("--output -o", "Output model folder; it must not exist.", "FOLDER")]
From = Annotated[str, option("--source", "Language of the source, if the files do not name it.", "LANG")]
Into = Annotated[str, option("--target", "Language of the target.", "LANG")]


@command("import", IMPORT_EXAMPLES, WITH_LESS_MEMORY)
def import_(model: Foreign, output: Run, source: From = "", target: Into = "") -> None:
    """Convert a model of another tool, such as one of OPUS-MT, to a Limelight model."""
    from limelight.interop import import_model

    directions = import_model(model, output, source_lang=source, target_lang=target)
    if not directions:
        typer.echo(
            "limelight: the languages of this model are not known, so that --from, --to, the DeepL and LibreTranslate "
            "interfaces and the comparison of source and translation do not work: import it again with --source LANG "
            "--target LANG",
            err=True,
        )
    typer.echo(f"wrote {output}; translate with `limelight translate --model {output}`", err=True)
