"""Models that come with the package: each a folder beside this file, known by its name."""

from pathlib import Path

FOLDER = Path(__file__).parent
DEFAULT = "tatoeba-en-de-fr"
"""What translates where no model is named."""
CONFIG = "config.yaml"
"""A folder with this file is a model."""


def bundled_models() -> dict[str, Path]:
    """The folders of all bundled models by their names; empty where the package was built without any."""
    return {path.parent.name: path.parent for path in sorted(FOLDER.glob(f"*/{CONFIG}"))}
