"""`limelight heads`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight.cli import options
from limelight.cli.arguments import SEVERAL, flag, option
from limelight.cli.corpora import by_direction, corpora
from limelight.cli.evaluate import read_tests
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command, wrote
from limelight.cli.output import TextProgress, show
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.evaluation.head_report import HeadStudy
    from limelight.parts import Parts

EXAMPLES = """
  limelight heads --model runs/en-de --test test.en test.de
  limelight heads --model runs/en-de --test test.tsv -o heads
  limelight heads --model runs/en-de --test test.tsv --bleu -o heads
  limelight heads --model runs/en-de --test test.tsv --keep
"""
REPORT = "heads.json"
COMMITTED_SECONDS = 5.0
"""Results are written at most this often."""


@command("heads", EXAMPLES)
def heads(
    *,
    test: options.Words = option("Parallel text.", SEVERAL),
    model: options.Words = options.ONE_MODEL,
    output: Path | None = option(
        f"Folder for {REPORT} and pictures of the curves; the same command continues an interrupted one.",
        "FOLDER",
        None,
        "--output -o",
    ),
    bleu: bool = flag("Also measure BLEU without each head, and along the curves."),
    sentences: int = option("Number of pairs, spread evenly over the files.", "N", 500, min=1),
    keep: bool = flag("Store the roles in the model folder, so that the page shows them."),
    as_json: bool = options.AS_JSON,
    theme: options.Theme | None = options.THEME,
    source: str = options.FROM,
    target: str = options.TO,
    quiet: bool = options.QUIET,
    machine: Machine,
) -> None:
    """Measure what each attention head does on text with references, and how much it matters.

    Roles with means and deviations, the loss without each head, gradient scores, and pruning curves.
    """
    folders, configs = find_models(model, bundled=True, one="the heads of one are measured")
    if "pairs" not in configs[0].model.learns_from:
        raise UserError(f"{folders[0]}: the heads of translators are measured, and this is another model")
    if not test:
        raise UserError("missing text: give sentence pairs as --test FILE...")
    groups = read_tests(configs[0], by_direction(corpora(test, source, target, "--test"), configs, (source, target)))
    from limelight.files import sha256
    from limelight.storage.layout import WEIGHTS, find_model, model_sums

    files = list(dict.fromkeys(pair.file for some in groups.values() for pair in some))
    made_of = {
        "model": model_sums([folders[0]])[folders[0]],
        "test": {file: sha256(Path(file)) for file in files},
        "directions": [str(direction or "") for direction in groups],
        "bleu": bleu,
        "sentences": sentences,
    }
    with ExitStack() as leave:
        parts = leave.enter_context(_parts(output, made_of)) if output is not None else None
        translator = open_translator(folders, machine)
        from limelight.evaluation.heads import study_heads

        progress = leave.enter_context(TextProgress(quiet=quiet))
        done = parts.read(0) if parts is not None and len(parts) else {}
        study = study_heads(
            translator,
            groups,
            bleu=bleu,
            sentences=sentences,
            origin={"model": folders[0], "weights": sha256(find_model(folders[0]) / WEIGHTS)},
            done=done,
            on_step=_follow(progress, parts, len(done)),
        )
        if parts is not None and output is not None:
            _write(study, output, theme or "dark")
            parts.remove()
    if keep:
        _keep(study, folders[0])
    show(study.to_json() if as_json else study.table())
    if output is not None:
        wrote(output)


def _parts(output: Path, made_of: Mapping[str, Any]) -> Parts:
    """The parts of the report, which may be those of an earlier start."""
    from limelight.files import writing
    from limelight.inspection.heatmap import require_matplotlib
    from limelight.parts import Parts, parts_of, require_new

    require_matplotlib()
    with writing(output, "nothing was written"):
        output.mkdir(parents=True, exist_ok=True)
    require_new(output / REPORT)
    return Parts(parts_of(output / REPORT), made_of)


def _follow(progress: TextProgress, parts: Parts | None, before: int) -> Any:
    """What is called after each step: shows it, and keeps the results so far."""
    started = committed = time.monotonic()

    def on_step(count: int, total: int, found: Mapping[str, Any]) -> None:
        nonlocal committed
        now = time.monotonic()
        progress.show("step", count, total, seconds=now - started, new=max(0, count - before))
        if parts is not None and count > before and now - committed > COMMITTED_SECONDS:
            parts.write(0, dict(found))
            committed = now

    return on_step


def _keep(study: HeadStudy, folder: str) -> None:
    """Store the clearest role of each head in the model folder."""
    from limelight.files import writing
    from limelight.storage.layout import ROLES, find_model
    from limelight.storage.tables import save_table

    path = find_model(folder) / ROLES
    with writing(path, "give a copy of the model folder"):
        save_table(path, study.stored_roles(), {"test": [Path(file).name for file in study.provenance["test_files"]]})
    wrote(path)


def _write(study: HeadStudy, output: Path, theme: str) -> None:
    """Write the pictures, and the report last."""
    from limelight.files import write_whole, writing
    from limelight.inspection.heatmap import draw_curves, picture_bytes

    picture = draw_curves(study.panels(), across="heads removed", theme=theme)
    with writing(output, "the same command writes it again"):
        write_whole(output / "curve.svg", picture_bytes(picture, "svg"))
        write_whole(output / "curve.pdf", picture_bytes(picture, "pdf"))
        write_whole(output / REPORT, study.to_json())
