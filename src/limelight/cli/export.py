"""`limelight export` and `limelight import`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from limelight.cli import options
from limelight.cli.arguments import argument, option
from limelight.cli.models import find_models
from limelight.cli.outcome import command, note, wrote

EXAMPLES = """
  limelight export --model runs/en-de --to ctranslate2 \\
      --quantization int8 -o en-de-int8
  limelight export --model runs/en-de --to huggingface -o en-de-marian
  limelight export --model runs/en-de --to argos -o en_de.argosmodel
  limelight export --model runs/en-de --to limelight --quantization int8 \\
      -o en-de-small
"""
To = Literal["argos", "ctranslate2", "huggingface", "limelight"]
Quantization = Literal[
    "float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16"
]


@command("export", EXAMPLES)
def export(
    *,
    to: To = option(
        "The other tool: ctranslate2; huggingface (MarianMTModel of transformers); argos (for Argos Translate and "
        "LibreTranslate); or limelight (a smaller model folder).",
        "TOOL",
        ...,
    ),
    output: Path = option(
        "Folder to write, or with --to argos a file; it must not exist.", "FOLDER", ..., "--output -o"
    ),
    model: options.Words = options.ONE_MODEL,
    quantization: Quantization = option(
        "Number format of the stored weights: float32, bfloat16 (half the size) or int8 (a quarter); with --to "
        "ctranslate2 or argos also float16, int16 and int8_float16, and others of CTranslate2. huggingface has "
        "float32 alone.",
        "FORMAT",
        "float32",
    ),
) -> None:
    """Write a model in the format of another tool, or as a smaller Limelight model.

    The output has a README.md with the code to use it. A model that the other tool cannot compute is refused with all
    reasons. To use a model of another tool here, see `limelight import`.
    """
    folders, _ = find_models(model, bundled=True, only_one="one is exported at a time")
    from limelight.registry import resolve
    from limelight.storage.model import load_model

    resolve(f"limelight.interop:export_{to}")(load_model(folders[0]), output, quantization=quantization)
    in_argos = f"install it in Python: argostranslate.package.install_from_path({str(output)!r})"
    wrote(f"{output}; {in_argos if to == 'argos' else 'its README.md shows how to use it'}")


IMPORT_EXAMPLES = """
  limelight import translate-zh_en-1_9.argosmodel -o zh-en
  limelight import opus-mt-en-de --source en --target de -o en-de
  limelight translate --model en-de < input.txt > output.txt
"""


@command("import", IMPORT_EXAMPLES)
def import_(
    *,
    model: Path = argument(
        "An Argos package, a CTranslate2 folder, a Marian checkpoint (.npz), a model of Bergamot or Firefox, or a "
        "folder of transformers with Marian, M2M100 or NLLB. Its format is recognized by its content.",
        "SOURCE",
        ...,
    ),
    output: Path = option("Output model folder; it must not exist.", "FOLDER", ..., "--output -o"),
    source: str = option(
        "Source language, if the files do not name it; several of M2M100 or NLLB: de,fr.", "LANG", "", "--source --from"
    ),
    target: str = option("Target language.", "LANG", "", "--target --to"),
) -> None:
    """Make a Limelight model of a model of another tool, such as one of OPUS-MT."""
    from limelight.interop import import_model

    directions = import_model(model, output, source_lang=source, target_lang=target)
    if not directions:
        note(
            "the languages of this model are not known, so that --from, --to, the DeepL and LibreTranslate interfaces "
            "and the comparison of source and translation do not work: import it again with --source LANG --target LANG"
        )
    wrote(f"{output}; translate with `limelight translate --model {output}`")
