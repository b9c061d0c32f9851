"""`limelight heads`: tables, and roles in the model folder."""

import json
import shutil
from pathlib import Path

import pytest

from limelight.inspection.heads import head_counts
from limelight.pipelines.explain import Question, explain
from limelight.pipelines.load import load_translator
from limelight.storage.layout import ROLES, find_model
from tests.cli.conftest import Limelight


def test_roles_are_kept_in_the_model_folder_and_shown(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    shutil.copytree(find_model(trained), model)
    table = limelight("heads", "--model", model, "--test", corpus / "test.tsv")
    assert (table.code, "encoder.0.self 1" in table.out) == (0, True)
    ended = limelight("heads", "--model", model, "--test", corpus / "test.tsv", "--keep", "--json")
    assert ended.code == 0, ended.err
    assert ended.err.endswith(f"wrote {model / ROLES}\n")
    measured = {(each["attention"], each["head"]): each for each in json.loads(ended.out)["heads"]}
    translator = load_translator(model)
    kept = translator.head_roles
    assert kept is not None
    assert {name: len(some) for name, some in kept.attentions.items()} == head_counts(translator.model)
    first = kept.attentions["decoder.0.cross"][0]
    role = measured["decoder.0.cross", 0]["roles"]["spread" if first.role == "focused" else first.role]
    assert first.value == pytest.approx(1 - role["mean"] if first.role == "focused" else role["mean"], abs=1e-4)
    document = explain(translator, Question("the dog runs"))
    shown = document["corpus"]["roles"]["cross"][0][0]["text"]
    assert shown.endswith(f" {first.value:.2f} ± {first.deviation:.2f}")
    (model / ROLES).write_text("{}")
    with pytest.warns(UserWarning, match=r"roles\.json.*the page shows no roles over a corpus"):
        assert load_translator(model).head_roles is None
