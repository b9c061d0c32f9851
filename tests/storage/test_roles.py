"""roles.json: what is written is read, and what a stranger wrote is checked."""

import json
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.inspection.head_roles import TEXTS
from limelight.storage.tables import Role, Roles, read_roles, save_roles

COUNTS = {"encoder.0.self": 2, "decoder.0.cross": 1}
ROLES = Roles(
    7,
    {
        "encoder.0.self": [Role("previous", 0.5, 0.25), Role("spread", 1.0, 0.0)],
        "decoder.0.cross": [Role("aligns", 0.125, 0.75)],
    },
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "roles.json"
    assert read_roles(path, COUNTS, TEXTS) is None
    save_roles(path, ROLES, {"test": ["test.tsv"]})
    assert read_roles(path, COUNTS, TEXTS) == ROLES
    for counts in ({**COUNTS, "encoder.0.self": 3}, {"encoder.0.self": 2}, {**COUNTS, "decoder.0.self": 1}):
        with pytest.raises(UserError, match=r"roles\.json: not the roles\.json of this model: it has other heads"):
            read_roles(path, counts, TEXTS)


@pytest.mark.parametrize(
    "changed",
    [
        {"format": 2}, {"attentions": []}, {"attentions": {"encoder.0.self": [1, 2], "decoder.0.cross": [3]}},
        {"sentences": "7"}, {"sentences": -1}, {"sentences": True},
        {"role": "unheard of"}, {"role": None}, {"value": 1.5}, {"value": "much"}, {"deviation": -0.1},
        {"deviation": float("nan")},
    ],
)  # fmt: skip
def test_what_is_no_list_of_roles_is_refused(tmp_path: Path, changed: dict) -> None:
    path = tmp_path / "roles.json"
    save_roles(path, ROLES, {})
    values = json.loads(path.read_text())
    name = next(iter(changed))
    (values if name in values else values["attentions"]["decoder.0.cross"][0]).update(changed)
    path.write_text(json.dumps(values))
    with pytest.raises(UserError, match=r"roles\.json"):
        read_roles(path, COUNTS, TEXTS)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{"])
def test_what_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "roles.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"roles\.json"):
        read_roles(path, COUNTS, TEXTS)
