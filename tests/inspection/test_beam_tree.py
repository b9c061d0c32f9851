"""The traced search is the engine's: one result, and a tree in which everything has its reason."""

import math

import pytest
import torch

from limelight.decoding.engine import Engine
from limelight.decoding.request import Request, SearchSettings
from limelight.inspection.beam_tree import beam_tree
from tests.decoding.fakes import TableModel
from tests.inspection.fakes import LETTERS, Letters
from tests.models.helpers import make_model, recurrent, transformer

SETTINGS = [
    SearchSettings(beam_size=1),
    SearchSettings(beam_size=3, length_penalty=0.6),
    SearchSettings(beam_size=4, n_best=4, length_penalty=1.0),
    SearchSettings(beam_size=4, length_penalty=1.0, patience=1.0, prune=0.4),
]


def search(request: Request, config) -> tuple:
    model = make_model(config, Letters.size, Letters.size).eval()
    with torch.no_grad():  # untrained models say nearly the same of all tokens; these have an opinion
        for weight in model.parameters():
            weight.mul_(2.5 if weight.dim() > 1 else 1)
    engine = Engine(model)
    engine.submit(request)
    found = []
    while engine.busy:
        found += engine.step()
    return found[0].hypotheses, *beam_tree(model, LETTERS.target, request), model


@pytest.mark.parametrize("settings", SETTINGS, ids=["greedy", "beam", "n-best", "pruned"])
@pytest.mark.parametrize("config", [transformer(), recurrent()], ids=["transformer", "recurrent"])
@pytest.mark.parametrize("prefix", [(), (5, 9)], ids=["free", "prefix"])
def test_it_finds_what_the_engine_finds(seed, config, settings, prefix):
    request = Request([4, 11, 7, 3, 0], 7, settings, prefix)
    expected, found, tree, _ = search(request, config)
    assert [each.ids for each in found] == [each.ids for each in expected]
    assert [each.finished for each in found] == [each.finished for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-4)
    (best,) = [node for node in tree["nodes"] if node.get("best")]
    assert best["log_probability"] == pytest.approx(found[0].log_probability, abs=1e-4)
    assert best["state"] == ("ended" if found[0].finished else best["state"])


def test_the_length_limit_is_the_reason_also_where_others_have_finished():
    """The end is always the most probable token, so that a hypothesis finishes in the first step."""
    logits = torch.zeros(3, 1009, Letters.size - 1)
    logits[..., 0] = 0.5
    request = Request([1, 0], 1, SearchSettings(beam_size=4, n_best=4))
    found, tree = beam_tree(TableModel(logits), LETTERS.target, request)
    assert found[0].finished
    assert {node["reason"] for node in tree["nodes"] if node["state"] == "stopped"} == {"it reached the length limit"}
    request = Request([1, 0], 1, SearchSettings(beam_size=4))  # decided before its last step
    _, tree = beam_tree(TableModel(logits), LETTERS.target, request)
    assert {node["reason"] for node in tree["nodes"] if node["state"] == "stopped"} == {"it could not win any more"}


@pytest.mark.parametrize("settings", SETTINGS[1:], ids=["beam", "n-best", "pruned"])
def test_every_hypothesis_has_a_parent_a_state_and_a_reason(seed, settings):
    _, found, tree, _ = search(Request([4, 11, 7, 3, 0], 7, settings), transformer())
    nodes = {node["id"]: node for node in tree["nodes"]}
    width = settings.beam_size
    for node in tree["nodes"][1:]:
        parent = nodes[node["parent"]]
        assert node["step"] == parent["step"] + 1
        assert node["state"] in ("continued", "ended", "outscored", "pruned", "stopped")
        assert node["reason"]
        assert parent["state"] in ("continued", "stopped"), "only what was active has continuations"
        gain = node["log_probability"] - parent["log_probability"]
        assert node["probability"] == pytest.approx(math.exp(gain), rel=1e-3)
        assert (node.get("role") == "end") >= (node["state"] == "ended")
        assert ("score" in node) == (node["state"] == "ended")
    for step in range(max(node["step"] for node in tree["nodes"]) + 1):
        here = [node for node in tree["nodes"] if node["step"] == step]
        on = [node for node in here if node["state"] in ("continued", "stopped")]
        assert len(on) <= width
        assert len(here) <= 2 * width
        beaten = [node["log_probability"] for node in here if node["state"] == "outscored" and "role" not in node]
        assert not on or not beaten or min(node["log_probability"] for node in on) >= max(beaten) - 1e-6
    ended = [node["score"] for node in tree["nodes"] if node["state"] == "ended"]
    if found[0].finished:
        assert max(ended) == pytest.approx(found[0].score, abs=1e-6)
