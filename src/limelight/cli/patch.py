"""`limelight patch`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from limelight.cli import options
from limelight.cli.arguments import argument, option
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command, wrote
from limelight.cli.output import show
from limelight.errors import UserError
from limelight.files import write_output

EXAMPLES = """
  limelight patch --pair number --from en --to de
  limelight patch "I saw the child." "I saw the children." --to de
  limelight patch "A dog." "The dog." --model runs/en-de -o patch.svg
"""


@command("patch", EXAMPLES)
def patch(
    *,
    first: str | None = argument("The text whose vectors are put into the other.", "TEXT"),
    second: str | None = argument("The other text, with as many tokens.", "OTHER"),
    pair: Literal["number", "gender", "tense"] | None = option(
        "A built-in pair of English texts: singular and plural, he and she, or present and past.",
        "number|gender|tense",
    ),
    model: options.Words = options.ONE_MODEL,
    source_lang: str = option("Source language.", "LANG", "", "--from"),
    target_lang: str = option("Target language.", "LANG", "", "--to"),
    target: str | None = option("Translation of TEXT. Default: the model's own.", "TEXT"),
    other_target: str | None = option("Translation of OTHER.", "TEXT"),
    output: Path | None = option(
        "Picture (.svg, .png, .pdf) or values (.json). Default: a table.", "FILE", None, "--output -o"
    ),
    theme: options.Theme | None = options.THEME,
    machine: Machine,
) -> None:
    """Find where a model keeps the difference of two texts, such as number, gender or tense.

    Vectors of one are put into the other, and the part of its translation that returns is measured for each layer and
    position.
    """
    from limelight.inspection.views import ENDINGS, ending_of, save_view

    if (pair is None) == (first is None) or (first is None) != (second is None):
        raise UserError('give two texts, as in limelight patch "I saw it." "I see it.", or --pair number')
    if (target is None) != (other_target is None):
        raise UserError("--target and --other-target belong together: give both translations, or none")
    ending = ending_of(output, ENDINGS) if output is not None else ""
    folders, _ = find_models(model, bundled=True, one="one is patched", pairs=True)
    translator = open_translator(folders, machine, brief=True)
    from limelight.pipelines.patch import PAIRS, patch_texts

    texts = PAIRS[pair] if pair is not None else (first or "", second or "")
    said = None if target is None or other_target is None else (target, other_target)
    found = patch_texts(translator, *texts, targets=said, source_lang=source_lang, target_lang=target_lang)
    if output is None:
        show(found.table())
    elif ending == ".json":
        write_output(output, (json.dumps(found.values(), ensure_ascii=False, indent=1) + "\n").encode())
    else:
        save_view(found.view, output, theme=theme or "dark")
    if output is not None:
        wrote(output)
