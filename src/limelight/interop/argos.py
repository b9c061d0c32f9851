"""Export to an Argos package: a zip archive with metadata, one sentencepiece model, and a CTranslate2 folder."""

import json
import tempfile
import zipfile
from pathlib import Path

from limelight import __version__
from limelight.config import UNNAMED, directions_of
from limelight.files import fill_file, writing
from limelight.interop.ctranslate2 import export_ctranslate2
from limelight.interop.ctranslate2_reader import ARGOS_MODEL, CONFIG, METADATA, MODEL
from limelight.interop.folders import NOTHING_LEFT, exported_card, require_new
from limelight.interop.names import refuse
from limelight.interop.vocabularies import refused_tokenizers, sentencepiece_of
from limelight.storage.layout import CARD
from limelight.storage.model import StoredModel

_USE = "Install it with `argostranslate.package.install_from_path(FILE)`, or `argospm install FILE`.\n"


def export_argos(stored: StoredModel, path: Path, *, quantization: str = "float32") -> None:
    """Write a model as a package that Argos Translate and LibreTranslate install.

    Raises `UserError` with all reasons if the model is not supported, and if the file exists; `RunError` if it cannot
    be written, and then nothing is left there.
    """
    require_new(path)
    directions = [each for each in directions_of(stored.config.data) if each.source != UNNAMED["source"]]
    source, target = stored.tokenizers
    reasons = [*refused_tokenizers(stored.tokenizers)]
    if len(directions) != 1:
        reasons.append(f"a package translates in one named direction, and this model has {len(directions)}")
    if not any(refused_tokenizers(stored.tokenizers)) and sentencepiece_of(source) != sentencepiece_of(target):
        reasons.append("a package has one sentencepiece model, and each side of this model has its own")
    refuse(reasons, f"{stored.folder}: this model cannot be an Argos package")
    (direction,) = directions
    metadata = {
        "package_version": "1.0",
        "argos_version": "1.9.0",
        "from_code": direction.source,
        "from_name": direction.source,
        "to_code": direction.target,
        "to_name": direction.target,
    }
    folder = f"translate-{direction.source}_{direction.target}-1_0"
    with tempfile.TemporaryDirectory() as place:
        there = Path(place) / "model"
        export_ctranslate2(stored, there, quantization=quantization)
        kept = [MODEL, CONFIG, *(each.name for each in sorted(there.glob("*_vocabulary.json")))]

        def fill(partial: Path) -> None:
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(f"{folder}/{METADATA}", json.dumps(metadata))
                card = exported_card(stored, f"A model of limelight {__version__} as an Argos package", _USE)
                archive.writestr(f"{folder}/{CARD}", card)
                archive.writestr(f"{folder}/{ARGOS_MODEL}", sentencepiece_of(source))
                for name in kept:
                    archive.write(there / name, f"{folder}/model/{name}")

        with writing(path, NOTHING_LEFT):
            fill_file(path, fill)
