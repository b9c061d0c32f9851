"""Plugins: Python code of the user that adds something of its own to Limelight, such as a score.

Importing a plugin registers what it adds. Only what the user named is imported: files of `limelight --plugin FILE`, and
installed packages with an entry point in the group `limelight.plugins`. Model folders contain names, and never cause an
import.
"""

import importlib.util
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

from limelight.errors import UserError, fault_of

GROUP = "limelight.plugins"
"""Entry points of installed plugins; each is a module."""
FILES = "LIMELIGHT_PLUGINS"
"""Environment variable with the files of `--plugin`, through which child processes import the same ones."""

_loaded: set[str] = set()


def load_plugins() -> None:
    """Import the files of `FILES` and the installed plugins, once in a process.

    Raises `UserError` for a plugin that cannot be imported.
    """
    for file in filter(None, os.environ.get(FILES, "").split(os.pathsep)):
        if file not in _loaded:
            _loaded.add(file)
            load_plugin(file)
    if GROUP not in _loaded:
        _loaded.add(GROUP)
        for entry in entry_points(group=GROUP):
            try:
                entry.load()
            except Exception as error:
                raise UserError(
                    f"the plugin {entry.name} ({entry.value}) cannot be imported: {fault_of(error)}"
                ) from error


def load_plugin(file: str) -> None:
    """Import a Python file as a module with the name of the file. Raises `UserError` if that is not possible."""
    path = Path(file)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UserError(f"{file}: a plugin is an existing Python file (.py)")
    if path.stem in sys.modules and getattr(sys.modules[path.stem], "__file__", None) != str(path):
        raise UserError(f"{file}: there is already a module {path.stem}; rename the file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[path.stem]
        raise UserError(f"{file}: the plugin cannot be imported: {fault_of(error)}") from error
