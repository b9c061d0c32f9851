"""A folder of documents into another one. Every file is translated, or named with the reason why not."""

import mimetypes
import os
from collections.abc import Iterator
from pathlib import Path

from limelight.documents.parts import SUFFIX, parts_of
from limelight.documents.report import LeftOut, Report
from limelight.documents.translate import Work, translate_document
from limelight.errors import UserError
from limelight.files import PARTIAL, cause
from limelight.formats.registry import SUFFIXES, is_document

HIDDEN = (".", "~$")
"""Beginnings of the names of hidden files; those of an office program that has a document open are among them."""
_WITHOUT_TEXT = ("image/", "audio/", "video/", "font/", "text/css", "text/javascript", "application/javascript")


def translate_folder(folder: Path, output: Path, work: Work) -> Report:
    """Translate each document in a folder, and in those in it, into another folder with the same names.

    Files whose output is there, and newer, are left, so that after an interruption the same call goes on. A file that
    cannot be read stops nothing; the report names it, and all other files that were left out.

    Raises `UserError` for an output that is a file or is in the folder itself, and where there are no documents.
    """
    if output.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{output}: give a folder that is not within {folder}")
    if output.exists() and not output.is_dir():
        raise UserError(f"{output}: is a file; -o needs a folder for the documents of {folder}")
    report = Report()
    files = list(_documents(folder, report))
    if not files:
        others = f"; {report.left_out[0]}" if report.left_out else ""
        raise UserError(f"{folder}: there are no documents in it{others}")
    for path in files:
        target = output / path.relative_to(folder)
        if _is_there(path, target):
            report.left.append(str(path))
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            report.add(translate_document(path, target, work))
        except UserError as error:
            report.left_out.append(LeftOut(str(path), _reason(str(error), path)))
    return report


def _reason(message: str, path: Path) -> str:
    """A message about a file, without its name."""
    rest = message.removeprefix(str(path))
    return rest.removeprefix(": ") if rest.startswith(": ") else f"line {rest[1:]}" if rest[:1] == ":" else rest


def _documents(folder: Path, report: Report) -> Iterator[Path]:
    """The documents in a folder; the report names the other files. Hidden ones are not looked at."""

    def fail(error: OSError) -> None:
        report.left_out.append(LeftOut(str(error.filename), f"cannot be read: {cause(error).lower()}"))

    for root, folders, names in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not name.endswith(SUFFIX))
        for name in folders:
            if (link := Path(root, name)).is_symlink():
                report.left_out.append(LeftOut(str(link), "a link to a folder, which is not followed"))
        for name in sorted(name for name in names if not name.startswith(HIDDEN)):
            path = Path(root, name)
            if path.is_file() and is_document(path):
                yield path
            elif not name.endswith(PARTIAL):
                report.left_out.append(LeftOut(str(path), *_why_left_out(path)))


def _why_left_out(path: Path) -> tuple[str, bool]:
    """Why a file is not a document, and whether its text is missing in the result."""
    if not path.is_file():
        return "a broken link, or no file", True
    if (mimetypes.guess_type(path.name)[0] or "").startswith(_WITHOUT_TEXT):
        return "no document", False
    return f"not read as a document, but {', '.join(SUFFIXES)} are: save it as one of them", True


def _is_there(path: Path, target: Path) -> bool:
    """Whether a translation is complete, and newer than its source."""
    if parts_of(target).exists() or not target.exists():
        return False
    return target.stat().st_mtime > path.stat().st_mtime
