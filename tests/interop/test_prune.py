"""Models without some heads compute what the whole ones compute with these heads switched off."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from limelight.config import RunConfig
from limelight.errors import UserError
from limelight.files import sha256
from limelight.inference.prepare import prepare
from limelight.inspection.head_importance import Head, heads_of, without
from limelight.inspection.heads import with_heads
from limelight.interop import export_limelight, least_needed, prune_model
from limelight.models.families import count_parameters
from limelight.pipelines.load import load_translator
from limelight.storage.layout import ALIGNMENT, CONFIDENCE
from limelight.storage.model import StoredModel
from limelight.storage.tables import read_alignment, renumbered, save_alignment
from limelight.tokens import Tokenizers
from tests.inspection.fakes import Spelling
from tests.interop.trained import trained
from tests.models.helpers import batch_of, heads_kept, make_model, random_rows, recurrent, transformer

ONE_EACH = [Head(f"{side}.{depth}.{of}", depth) for side, of in
            (("encoder", "self"), ("decoder", "self"), ("decoder", "cross")) for depth in (0, 1)]  # fmt: skip
UNEVEN = [Head("encoder.0.self", 0), Head("encoder.0.self", 2), Head("decoder.1.cross", 1)]
WHOLE_ATTENTION = [Head("decoder.0.cross", number) for number in (0, 1, 2)]


def stored(config, tmp_path: Path = Path()) -> StoredModel:
    model = make_model(config, Spelling.size, Spelling.size).eval()
    return StoredModel(tmp_path, model, Tokenizers(Spelling(), Spelling()), RunConfig(model=config), {})


def exact(one: StoredModel):
    return copy.deepcopy(one.model).double()


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"norm": "pre", "positions": "rotary"},
        {"head_size": 4, "value_size": 3},
        {"score": "additive"},
        {"score": "general", "tie": "none"},
        {"d_model": 12, "head_size": None},
    ],
    ids=str,
)
@pytest.mark.parametrize("removed", [ONE_EACH, UNEVEN, WHOLE_ATTENTION, [], ONE_EACH + UNEVEN], ids=len)
def test_the_output_is_that_of_the_model_with_these_heads_off(seed, changed, removed):
    whole = stored(transformer(**changed))
    batch = batch_of(whole.model, random_rows((6, 3), 28), random_rows((4, 7), 28))
    model = exact(whole)
    with heads_kept(model, without(whole.model, removed)):
        expected = model(batch)
    smaller, places = prune_model(whole, removed)
    torch.testing.assert_close(exact(smaller).forward(batch), expected)
    left = max(sum(number is not None for number in each) for each in places.values())
    assert smaller.config.model.heads == left
    assert {len(each) for each in places.values()} == {left}
    assert (count_parameters(smaller.model) < count_parameters(whole.model)) == (left < 3)


def test_a_head_takes_what_it_had(seed):
    """The parameters that are gone are those of one head of each attention."""
    whole = stored(transformer(value_size=5))
    smaller, _ = prune_model(whole, ONE_EACH)
    width, size, value = 11, 2, 5
    of_head = 2 * (size * width + size) + value * width + value + value * width
    assert count_parameters(whole.model) - count_parameters(smaller.model) == 6 * of_head


EACH = ("encoder.0.self", "decoder.0.self", "decoder.0.cross")
TEXTS = ["the old dog", "a cat sees the house", "the dog"]


@pytest.mark.parametrize("form", ["fp32", "int8"])
def test_a_pruned_folder_translates_like_the_masked_model(tmp_path, form):
    """Exported, loaded, and searched by the loops of the CPU."""
    model = trained("pre")
    removed = [Head(name, number) for name, number in zip(EACH, (1, 2, 0), strict=True)]
    smaller, places = prune_model(model, removed)
    export_limelight(smaller, tmp_path / "small", form="fp32", places=places)
    masked = load_translator(model.folder, precision=form).with_heads(without(model.model, removed))
    small = load_translator(tmp_path / "small", precision=form)
    whole = load_translator(model.folder, precision=form)
    for one, other in zip(masked.translate(TEXTS), small.translate(TEXTS), strict=True):
        close = {"fp32": 1e-4, "int8": 0.3}[form]  # rows of three heads have other scales than those of four
        assert one.log_probability == pytest.approx(other.log_probability, abs=close)
        if form == "fp32":
            assert one.text == other.text
    logs = [[each.log_probability for each in some.translate(TEXTS)] for some in (whole, small)]
    assert logs[0] != pytest.approx(logs[1], abs=1e-2)  # these heads do something
    assert small.attention(TEXTS[0]).cross.shape[:2] == (1, 3)
    sizes = [folder.joinpath("model.safetensors").stat().st_size for folder in (model.folder, tmp_path / "small")]
    assert sizes[1] < sizes[0]


def test_the_compiled_search_takes_a_model_of_uneven_heads():
    pytest.importorskip("numba")
    smaller, _ = prune_model(trained("pre"), [Head("encoder.0.self", 0), Head("encoder.0.self", 3)])
    assert prepare(smaller.model, "int8").searches


def test_what_was_fitted_to_the_whole_model_is_left_out(tmp_path):
    model = trained("pre")
    folder = tmp_path / "whole"
    export_limelight(model, folder, form="fp32")
    (folder / CONFIDENCE).write_text("{}")
    save_alignment(folder / ALIGNMENT, [(0, 1, True)], {})
    model = replace(model, folder=folder)
    for number, kept in ((0, [(0, 0, True)]), (1, [])):
        smaller, places = prune_model(model, [Head(name, number) for name in EACH])
        out = tmp_path / f"without-{number}"
        export_limelight(smaller, out, form="fp32", places=places)
        assert not (out / CONFIDENCE).exists()
        assert read_alignment(out / ALIGNMENT, layers=1, heads=3) == kept
        assert "Attention heads were removed: 3 of each attention" in (out / "README.md").read_text()
        assert list(load_translator(out).alignment_heads) == kept


def test_alignment_heads_are_renumbered():
    places = {"decoder.0.cross": [1, 3], "decoder.1.cross": [0, None]}
    assert renumbered([(0, 3, True), (1, 0, False)], places) == [(0, 1, True), (1, 0, False)]
    assert renumbered([(0, 3, True), (0, 2, False)], places) == []


def test_the_least_needed_heads_of_each_attention_are_found(seed, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    model = stored(transformer(), tmp_path)
    heads = heads_of(model.model)
    costs = {head: (head.number + 1) % 3 - 0.5 * (head.attention == "encoder.0.self") for head in heads}
    values = {
        "format": "limelight.heads",
        "version": 1,
        "heads": [
            {"attention": head.attention, "head": head.number, "removal": {"mean": costs[head]}} for head in heads
        ],
        "provenance": {"weights": sha256(tmp_path / "model.safetensors")},
    }
    study = tmp_path / "heads.json"
    study.write_text(json.dumps(values))
    names = dict.fromkeys(head.attention for head in heads)
    assert least_needed(study, model, 2) == sorted(Head(name, 2) for name in names)
    assert least_needed(study, model, 1) == sorted(Head(name, number) for name in names for number in (0, 2))
    assert least_needed(study, model, 3) == []
    for keep in (0, 4):
        with pytest.raises(UserError, match=f"--heads {keep}: each attention of this model has 3 heads"):
            least_needed(study, model, keep)
    (tmp_path / "model.safetensors").write_bytes(b"others")
    with pytest.raises(UserError, match="figures are of another model"):
        least_needed(study, model, 2)
    for broken in ("[]", "{", '{"format": "x", "version": 1}', json.dumps(values | {"heads": [{}]})):
        study.write_text(broken)
        with pytest.raises(UserError, match=r"heads\.json"):
            least_needed(study, model, 2)


def test_other_models_and_heads_are_refused(seed):
    model = make_model(recurrent(), Spelling.size, Spelling.size)
    one = StoredModel(Path(), model, Tokenizers(Spelling(), Spelling()), RunConfig(model=recurrent()), {})
    with pytest.raises(UserError, match="Transformers with encoder and decoder"):
        prune_model(one, [Head("decoder.0.cross", 0)])
    with pytest.raises(UserError, match=r"there is no head encoder\.0\.self 3"):
        prune_model(stored(transformer()), [Head("encoder.0.self", 3)])


def test_scaled_heads_agree(seed):
    """A third way to the same output."""
    whole = stored(transformer())
    batch = batch_of(whole.model, random_rows((5,), 28), random_rows((4,), 28))
    keep = {name: kept.tolist() for name, kept in without(whole.model, UNEVEN).items()}
    smaller, _ = prune_model(whole, UNEVEN)
    torch.testing.assert_close(exact(smaller).forward(batch), with_heads(exact(whole), keep).forward(batch))
