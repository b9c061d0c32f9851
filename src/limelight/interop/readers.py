"""`limelight import`: the reader of each format, chosen by the content of files."""

from collections.abc import Callable
from pathlib import Path

from limelight.config import Direction
from limelight.errors import UserError
from limelight.files import require_new
from limelight.interop.ctranslate2_reader import METADATA, read_argos, read_ctranslate2
from limelight.interop.files import unpacked
from limelight.interop.folders import Imported, write_imported
from limelight.interop.huggingface import read_huggingface
from limelight.interop.marian import read_marian
from limelight.storage.foreign import recognize
from limelight.storage.layout import IMPORTED
from limelight.tokens import language_tag


def _read_package(path: Path, *_: str) -> Imported:
    if path.is_dir():
        return read_argos(path)
    with unpacked(path, METADATA) as folder:
        return read_argos(folder)


READERS: dict[str, Callable[[Path, str, str], Imported]] = {
    "Argos": _read_package,
    "CTranslate2": lambda path, *_: read_ctranslate2(path),
    "Marian": lambda path, *_: read_marian(path),
    "transformers": read_huggingface,
}


def import_model(source: Path, out: Path, *, source_lang: str = "", target_lang: str = "") -> tuple[Direction, ...]:
    """Write the model in `source`, a folder or a file of another format, as a model folder; returns its directions.

    Args:
        source_lang, target_lang: its languages, if its files do not name them or name others; those to be imported of a
            model of many languages, with commas between them.

    Raises `UserError` for missing, damaged and unsupported files, with all reasons, and if `out` exists; `RunError` if
    it cannot be written, and then nothing is left there.
    """
    require_new(out)
    foreign = recognize(source)
    if foreign is None:
        raise UserError(f"{source}: this is a model in no known format; {IMPORTED}")
    if bool(source_lang) != bool(target_lang):
        raise UserError("--source LANG and --target LANG belong together: give both languages of the model")
    imported = READERS[foreign.format](foreign.path, source_lang, target_lang)
    if source_lang and imported.language_tokens == "target":
        for name in (source_lang, target_lang):
            language_tag(name)  # refuses what is no name of a language
        imported = imported._replace(directions=(Direction(source_lang, target_lang),))
    write_imported(imported, out, source.resolve().name)
    return imported.directions
