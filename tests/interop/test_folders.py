"""The page that travels with a model."""

from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.interop.folders import exported_card, read_card, require_new
from limelight.storage.model import StoredModel
from tests.interop.helpers import make_stored, make_tokenizers, transformer


@pytest.fixture
def stored(tmp_path: Path) -> StoredModel:
    return make_stored(tmp_path / "model", transformer(), make_tokenizers(joint=True))


def test_a_card_holds_the_one_before_it(stored: StoredModel, tmp_path: Path) -> None:
    card = exported_card(stored, "For somebody", "Use it so.")
    assert card.startswith("# For somebody\n")
    assert "Use it so." in card
    assert card.endswith("# Whose it is\n")
    (stored.folder / "README.md").write_bytes(b"license: \xff")
    assert read_card(stored.folder) == "license: \ufffd"
    (stored.folder / "README.md").unlink()
    assert read_card(stored.folder) == ""


def test_only_a_new_name_will_do(tmp_path: Path) -> None:
    require_new(tmp_path / "new")
    with pytest.raises(UserError, match="exists already"):
        require_new(tmp_path)
