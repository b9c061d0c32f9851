"""`limelight heads`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from limelight.cli import options
from limelight.cli.arguments import number, option
from limelight.cli.corpora import by_direction, corpora
from limelight.cli.evaluate import read_tests
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command, wrote
from limelight.cli.output import show
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Direction
    from limelight.evaluation.head_report import HeadStudy
    from limelight.evaluation.metrics import GoldAlignment
    from limelight.parts import Parts
    from limelight.text.pair import Pair

EXAMPLES = """
  limelight heads --model runs/en-de --test test.en test.de
  limelight heads --model runs/en-de --test test.tsv -o heads
  limelight heads --model runs/en-de --test test.tsv --bleu -o heads
  limelight heads --model runs/en-de --test gold.en gold.de --gold gold.align
  limelight heads --model runs/en-de --test test.tsv --keep
  limelight heads --model runs/plays
"""
WITH_LESS_MEMORY = "Split very long lines"
REPORT, PICTURES = "heads.json", ("curve.svg", "curve.pdf")
COMMITTED_SECONDS = 5.0
"""Results are written at most this often."""


class Asked(NamedTuple):
    """The requested measurements."""

    bleu: bool
    gold: Path | None
    sentences: int


Test = Annotated[list[str] | None, option("--test", "Parallel text; a language model needs none.", "FILE...")]
Figures = Annotated[
    Path | None,
    option(
        "--output -o",
        f"Folder for {REPORT} and pictures of the curves; the same command continues an interrupted one.",
        "FOLDER",
    ),
]
WithBleu = Annotated[bool, option("--bleu", "Also measure BLEU without each head, and along the curves.")]
Gold = Annotated[
    Path | None,
    option(
        "--gold",
        "Hand alignments: for each pair a line of links i-j (sure) or ipj (possible) of words between spaces.",
        "FILE",
    ),
]
Keep = Annotated[bool, option("--keep", "Store the roles in the model folder, so that the page shows them.")]
Sentences = Annotated[int, option("--sentences", "Number of pairs, spread evenly over the files.", "N", number(int, 1))]


@command("heads", EXAMPLES, WITH_LESS_MEMORY)
def heads(
    *,
    test: Test = None,
    model: options.OneModel = None,
    output: Figures = None,
    bleu: WithBleu = False,
    gold: Gold = None,
    sentences: Sentences = 500,
    keep: Keep = False,
    as_json: options.AsJson = False,
    theme: options.PictureTheme = None,
    source: options.FromLanguage = "",
    target: options.ToLanguage = "",
    quiet: options.Quiet = False,
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
    given = by_direction(corpora(test, source, target, "--test"), configs, (source, target))
    groups = read_tests(configs[0], given)
    asked = Asked(bleu, gold, sentences)
    with ExitStack() as leave:
        parts = _continued(leave, output, _made_of(folders[0], groups, asked))
        study = _studied(folders, groups, asked, machine, parts, quiet=quiet)
        if parts is not None and output is not None:
            _write(study, output, theme or "dark")
            parts.remove()
    if keep:
        _keep(study, folders[0])
    show(study.to_json() if as_json else study.table())
    if output is not None:
        wrote(output)


def _studied(
    folders: list[str],
    groups: Mapping[Direction | None, Sequence[Pair]],
    asked: Asked,
    machine: Machine,
    parts: Parts | None,
    *,
    quiet: bool,
) -> HeadStudy:
    """The study, whose results are written as they come."""
    gold = _gold(asked.gold) if asked.gold else ()
    translator = open_translator(folders, machine)
    from limelight.cli.output import text_progress
    from limelight.evaluation.heads import What, study_heads
    from limelight.files import sha256
    from limelight.storage.layout import WEIGHTS, find_model

    done = parts.read(0) if parts is not None and len(parts) else {}
    before, started = len(done), time.monotonic()
    committed = started
    with text_progress(quiet=quiet) as progress:

        def on_step(count: int, total: int, found: Mapping[str, Any]) -> None:
            nonlocal committed
            now = time.monotonic()
            progress.show("step", count, total, seconds=now - started, new=max(0, count - before))
            if parts is not None and count > before and now - committed > COMMITTED_SECONDS:
                parts.write(0, dict(found))
                committed = now

        return study_heads(
            translator,
            groups,
            what=What(bleu=asked.bleu, gold=gold),
            sentences=asked.sentences,
            origin={"model": folders[0], "weights": sha256(find_model(folders[0]) / WEIGHTS)},
            done=done,
            on_step=on_step,
        )


def _gold(path: Path) -> list[GoldAlignment]:
    from limelight.evaluation.metrics import read_gold
    from limelight.formats.lines import read_lines

    found = []
    for place, line in enumerate(read_lines(path), start=1):
        try:
            found.append(read_gold(line))
        except UserError as error:
            raise UserError(f"{path}:{place}: {error}") from None
    return found


def _made_of(folder: str, groups: Mapping[Direction | None, Sequence[Pair]], asked: Asked) -> dict[str, Any]:
    """What the figures depend on."""
    from limelight.files import sha256
    from limelight.storage.layout import model_sums

    files = list(dict.fromkeys(pair.file for some in groups.values() for pair in some))
    return {
        "model": model_sums([folder])[folder],
        "test": {file: sha256(Path(file)) for file in files},
        "directions": [str(direction or "") for direction in groups],
        **asked._asdict(),
        "gold": None if asked.gold is None else sha256(asked.gold),
    }


def _continued(leave: ExitStack, output: Path | None, made_of: Mapping[str, Any]) -> Parts | None:
    """The parts of the report, which may be those of an earlier start; None without an output."""
    if output is None:
        return None
    from limelight.files import writing
    from limelight.inspection.heatmap import require_matplotlib
    from limelight.parts import Parts, parts_of, require_new

    require_matplotlib()
    with writing(output, "nothing was written"):
        output.mkdir(parents=True, exist_ok=True)
    require_new(output / REPORT)
    return leave.enter_context(Parts(parts_of(output / REPORT), made_of))


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

    panels = {
        "loss, nats per target token": {
            f"by {name}": [point.loss for point in points] for name, points in study.curves.items()
        }
    }
    if study.bleu is not None:
        panels["BLEU"] = {
            f"by {name}": [point.bleu or 0.0 for point in points] for name, points in study.curves.items()
        }
    picture = draw_curves(panels, across="heads removed", theme=theme)
    with writing(output, "the same command writes it again"):
        write_whole(output / PICTURES[0], picture_bytes(picture, "svg"))
        write_whole(output / PICTURES[1], picture_bytes(picture, "pdf"))
        write_whole(output / REPORT, study.to_json())
