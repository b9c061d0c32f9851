"""`limelight heads`: tables, files, and an interrupted study."""

import json
import shutil
from pathlib import Path

import pytest

from limelight.cli import heads as command
from limelight.evaluation import heads
from limelight.inspection.heads import head_counts
from limelight.pipelines.explain import Question, explain
from limelight.pipelines.load import load_translator
from limelight.storage.layout import ROLES, find_model
from tests.cli.conftest import Limelight

FILES = ["curve.pdf", "curve.svg", "heads.json"]


def test_heads_are_measured_and_written(limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "heads"
    ended = limelight("heads", "--model", trained, "--test", corpus / "test.tsv", "-o", out, "--bleu")
    assert ended.code == 0, ended.err
    assert "encoder.0.self 1" in ended.out
    assert "loss, by gradient" in ended.out
    assert ended.err.endswith(f"wrote {out}\n")
    values = json.loads((out / "heads.json").read_text())
    assert values["format"] == "limelight.heads"
    assert values["provenance"]["model"] == str(trained)
    assert len(values["heads"]) == 6  # a layer of each side with two heads
    assert {name: len(points) for name, points in values["curves"].items()} == {"removal": 7, "gradient": 7}
    assert "heads removed" in (out / "curve.svg").read_text()
    assert sorted(path.name for path in out.iterdir()) == FILES
    again = limelight("heads", "--model", trained, "--test", corpus / "test.tsv", "-o", out)
    assert again.code == 2
    assert "heads.json: already exists" in again.err


def test_roles_are_kept_in_the_model_folder_and_shown(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    model = tmp_path / "model"
    shutil.copytree(find_model(trained), model)
    ended = limelight("heads", "--model", model, "--test", corpus / "test.tsv", "--keep", "--json")
    assert ended.code == 0, ended.err
    assert ended.err.endswith(f"wrote {model / ROLES}\n")
    measured = {(each["attention"], each["head"]): each for each in json.loads(ended.out)["heads"]}
    translator = load_translator(model)
    kept = translator.head_roles
    assert kept is not None
    assert {name: len(some) for name, some in kept.attentions.items()} == head_counts(translator.model)
    for name, some in kept.attentions.items():
        for number, each in enumerate(some):
            whole = measured[name, number]
            role = {"focused": "spread"}.get(each.role, each.role)
            value = whole["roles"][role]["mean"]
            assert each.value == pytest.approx(1 - value if each.role == "focused" else value, abs=1e-4)
            assert each.deviation == pytest.approx(whole["roles"][role]["deviation"], abs=1e-4)
    document = explain(translator, Question("the dog runs"))
    assert document["corpus"]["sentences"] == kept.sentences
    shown = document["corpus"]["roles"]
    assert {kind: [len(layer) for layer in layers] for kind, layers in shown.items()} == {
        kind["name"]: [kind["heads"]] * kind["layers"] for kind in document["kinds"]
    }
    first = kept.attentions["decoder.0.cross"][0]
    assert shown["cross"][0][0]["text"].endswith(f" {first.value:.2f} ± {first.deviation:.2f}")
    (model / ROLES).write_text("{}")
    with pytest.warns(UserWarning, match=r"roles\.json.*the page shows no roles over a corpus"):
        assert load_translator(model).head_roles is None


def test_an_interrupted_study_continues(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, words = tmp_path / "heads", ("heads", "--model", trained, "--test", corpus / "test.tsv")
    measured, computed = heads.sentence_losses, []

    def fails_later(*given, **options):
        computed.append(1)
        if len(computed) == 5:
            raise KeyboardInterrupt
        return measured(*given, **options)

    monkeypatch.setattr(command, "COMMITTED_SECONDS", 0.0)
    monkeypatch.setattr(heads, "sentence_losses", fails_later)
    assert limelight(*words, "-o", out).code == 130
    assert (out / "heads.json.parts").is_dir()
    other = limelight(*words, "-o", out, "--sentences", "3")
    assert other.code == 2
    assert "made with other settings" in other.err
    ended = limelight(*words, "-o", out)
    assert ended.code == 0, ended.err
    assert sorted(path.name for path in out.iterdir()) == FILES
    continued = len(computed) - 5
    monkeypatch.setattr(heads, "sentence_losses", measured)
    whole = limelight(*words, "--json")
    assert json.loads(whole.out) == json.loads((out / "heads.json").read_text())
    assert continued == 2 + 6 + 2 * 6 - 4


def test_what_has_no_such_heads_is_refused(limelight: Limelight, writing: Path, trained: Path, corpus: Path) -> None:
    ended = limelight("heads", "--model", writing, "--test", corpus / "test.tsv")
    assert (ended.code, "the heads of translators are measured" in ended.err) == (2, True)
    ended = limelight("heads", "--model", trained)
    assert (ended.code, "missing text: give sentence pairs as --test FILE..." in ended.err) == (2, True)
    ended = limelight("heads", "--model", trained / "none", "--test", corpus / "test.tsv")
    assert (ended.code, "none" in ended.err) == (2, True)
    empty = trained.parent / "empty.tsv"
    empty.write_text("", encoding="utf-8")
    ended = limelight("heads", "--model", trained, "--test", empty)
    assert (ended.code, "no pair has from 1 to" in ended.err) == (2, True), ended.err
    ended = limelight("heads", "--model", trained, "--model", trained, "--test", corpus / "test.tsv")
    assert (ended.code, "2 models: the heads of one are measured" in ended.err) == (2, True)
