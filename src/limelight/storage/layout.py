"""The files of a model folder, and the folder that a path or a name refers to.

This module does not need torch.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from limelight.errors import UserError, shown
from limelight.files import sha256

WEIGHTS = "model.safetensors"
CONFIG = "config.yaml"
TOKENIZER = "tokenizer"
CARD = "README.md"
SHORTLIST = "shortlist.safetensors"
LABELS = "labels.json"
DETECTOR = "languages.safetensors"
CONFIDENCE = "confidence.json"
ALIGNMENT = "alignment.json"
INT8_COST = "int8.json"
ROLES = "roles.json"
FIRST_LOOK = "first-look.json"
"""A document of the page, which it shows while the model loads."""
OF_WEIGHTS = (ALIGNMENT, CONFIDENCE, FIRST_LOOK, INT8_COST, ROLES)
"""Files of what was measured of the weights."""
BOX = Path(__file__).parents[1] / "box"
"""Bundled models: one folder for each, with its name."""
DEFAULT = "tatoeba-en-de-fr"
"""The model that is used by default."""
BEST = "best"
START = "start"
"""The model with an extended vocabulary that a run begins with."""
SNAPSHOTS = "snapshots"
SNAPSHOT = re.compile(r"update-(\d{8,})")
NEW_TAGS = "new_tags"
"""The note of the weights in `START` with the tags that were added."""
IMPORTED = (
    "`limelight import` reads Argos packages, CTranslate2 folders, models of Marian (.npz, or .bin with a student) and "
    "folders of transformers with a Marian, M2M100 or NLLB model in model.safetensors"
)
OF_A_RUN = ("log.jsonl", "checkpoints", "data")
"""Names that exist in a run folder but not in a model folder."""


def bundled_models() -> dict[str, Path]:
    """The folders of all bundled models by name; empty if the package was built without them."""
    return {path.parent.name: path.parent for path in sorted(BOX.glob(f"*/{CONFIG}"))}


def find_model(path: str | Path) -> Path:
    """The model folder of a run or model folder, or of a bundled model if no such path exists.

    Raises `UserError` if there is none, and if one of its files is a link that leads out of the folder.
    """
    folder = Path(path)
    try:
        if not folder.exists():
            folder = bundled_models().get(str(path), folder)
        for candidate in (folder / BEST, folder):
            if (candidate / WEIGHTS).is_file():
                if not (candidate / CONFIG).is_file():
                    _refuse_foreign(candidate)
                if BOX not in candidate.parents:  # installers may link what a package has
                    _require_own_files(candidate, folder)
                return candidate
        exists, begun = folder.exists(), any((folder / name).exists() for name in (*OF_A_RUN, CONFIG))
    except OSError as error:
        raise UserError(f"{path}: cannot look for a model there: {error.strerror}") from None
    if not exists:
        bundled = "".join(f", or {name}, which comes with limelight" for name in bundled_models())
        raise UserError(
            f"{path}: there is no such model; a model is the folder that `limelight train --out` wrote{bundled}"
        )
    _refuse_foreign(folder)
    missing = f"it holds neither {BEST}/{WEIGHTS} nor {WEIGHTS}"
    if begun:
        raise UserError(
            f"{path}: this run has no model yet: {missing}; `limelight train --out {path}` continues it. If it is a "
            "copy, copy the whole folder again"
        )
    raise UserError(f"{path}: not a run or model folder: {missing}; {IMPORTED}")


def _refuse_foreign(path: Path) -> None:
    """Raise `UserError` if this is a model of another format."""
    from limelight.storage.foreign import recognize  # with YAML, which the names of models do without

    foreign = recognize(path)
    if foreign is not None:
        raise UserError(
            f"{path}: this is a model for {foreign.format}, not a model folder; `limelight import {path} -o NEW` makes "
            "one of it"
        )


def find_start(begin_with: str, run: Path) -> Path:
    """The folder of the model that a run begins with: `begin_with`, or what the run has made of it."""
    return run / START if (run / START).is_dir() else find_model(begin_with)


def find_snapshots(run: Path) -> dict[int, Path]:
    """The model folders under `RUN/snapshots` by number of updates, in ascending order."""
    snapshots = {
        int(named[1]): path
        for path in (run / SNAPSHOTS).glob("update-*")
        if (named := SNAPSHOT.fullmatch(path.name)) and (path / WEIGHTS).is_file()
    }
    return dict(sorted(snapshots.items()))


def model_sums(folders: Sequence[str], *, shortlist: bool) -> list[dict[str, str]]:
    """The SHA-256 of every file of each run or model folder that affects translations: weights, configuration,
    tokenizers, language detector, confidence, and the shortlist if it is used."""
    names = [WEIGHTS, CONFIG, DETECTOR, CONFIDENCE, *[SHORTLIST] * shortlist]
    sums = []
    for model in map(find_model, folders):
        files = [*(model / name for name in names), *sorted((model / TOKENIZER).rglob("*"))]
        sums.append({path.relative_to(model).as_posix(): sha256(path) for path in files if path.is_file()})
    return sums


def _require_own_files(model: Path, folder: Path) -> None:
    root = os.path.realpath(folder)
    for path in model.rglob("*"):
        target = os.path.realpath(path)
        if os.path.commonpath([root, target]) != root:
            raise UserError(f"{path}: a link out of {folder}, to {shown(target)}; put the file itself there")
