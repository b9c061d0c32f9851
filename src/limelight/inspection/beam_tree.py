"""The trace of a beam search: every hypothesis that was considered, its parent, and why it was not continued.

The search is the engine's own (`decoding/beam.py`), for one request at a time, with the engine's own step; the subclass
only records.

| state       | outcome of a hypothesis                                                                        |
|-------------|------------------------------------------------------------------------------------------------|
| `continued` | among the `beam_size` best of its step: it became active                                       |
| `ended`     | finished, among the first `beam_size`; translations are ranked by its `score`                  |
| `outscored` | others of its step were more probable                                                          |
| `pruned`    | too far below the best                                                                         |
| `stopped`   | active when the search was decided: it could not win any more, or reached the length limit     |
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from limelight.batching.batch import pad_rows
from limelight.decoding.beam import BeamSearch
from limelight.decoding.engine import search_from
from limelight.decoding.host import Integers, Numbers, Truths
from limelight.decoding.request import Hypothesis, Request, check_request
from limelight.decoding.utf8 import Utf8
from limelight.inspection.look_up import candidate
from limelight.inspection.words import drawable
from limelight.models.interface import Active, Seq2Seq, eval_mode
from limelight.tokens import Tokenizer


class TracedBeam(BeamSearch):
    """The beam search of one request, in slot 0, which records every continuation that it ranked."""

    def __init__(self, beam_size: int, *, start_id: int, end_id: int, classes: int, utf8: Utf8 | None = None) -> None:
        super().__init__(beam_size, start_id=start_id, end_id=end_id, classes=classes, utf8=utf8)
        self.nodes: list[dict[str, Any]] = [{"id": 0, "parent": None, "token": start_id, "log_probability": 0.0}]
        self.active_nodes = [0] * beam_size
        """The node of each active hypothesis."""
        self._offered: tuple[Numbers, Integers, Integers]
        self._kept: Numbers

    def advance(
        self, log_probabilities: Tensor, active: Active, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        before, length = self.log_probabilities[0].copy(), int(self.positions[0]) + 1
        moved, decided = super().advance(log_probabilities, active, ids)
        assert moved is not None
        gained, parents, columns = (part[0] for part in self._offered)
        went_on = int(self.positions[0]) == length
        places = {
            (int(parent), int(token)): rank
            for rank, (parent, token) in enumerate(zip(moved[0], self.ids[0], strict=True))
            if went_on and self.log_probabilities[0, rank] > -np.inf
        }
        following = [0] * self.width
        for rank, (gain, parent, token) in enumerate(zip(gained, parents, columns, strict=True)):
            total = float(gain + before[parent])
            if total == -np.inf:
                continue
            place = places.get((int(parent), int(token)))
            node = self._noted(int(parent), int(token), total, float(gain))
            node |= self._became(rank, int(token), place, length)
            if place is not None:
                following[place] = node["id"]
        if went_on:
            self.active_nodes = following
        return moved, decided

    def _noted(self, parent: int, token: int, total: float, gain: float) -> dict[str, Any]:
        node = {
            "id": len(self.nodes),
            "parent": self.active_nodes[parent],
            "token": token,
            "log_probability": total,
            "gain": gain,
        }
        self.nodes.append(node)
        return node

    def _became(self, rank: int, token: int, place: int | None, length: int) -> dict[str, Any]:
        """State and reason of the continuation with this rank."""
        if self._kept[rank] == -np.inf:
            return {"state": "pruned", "reason": "too far below the best to win"}
        if token == self.end_id and rank < self.width:
            score = self.score(0, float(self._kept[rank]), length)
            return {"state": "ended", "score": score, "reason": f"ended with a score of {score:.3f}"}
        if token != self.end_id and place is not None:
            return {"state": "continued", "reason": f"number {place + 1} of {self.width} active hypotheses"}
        at_limit = int(self.limits[0]) == length - 1
        reason = "it reached the length limit" if at_limit else f"{self.width} others were more probable"
        return {"state": "outscored", "reason": reason}

    def _continuations(
        self, log_probabilities: Tensor, active: Active, ids: Integers | None
    ) -> tuple[Numbers, Integers, Integers]:
        self._offered = super()._continuations(log_probabilities, active, ids)
        return self._offered

    def _finish(self, slots: Integers, scores: Numbers, parents: Integers, ends: Truths) -> None:
        self._kept = scores[0].copy()
        super()._finish(slots, scores, parents, ends)


def beam_tree(model: Seq2Seq, target: Tokenizer, request: Request) -> tuple[list[Hypothesis], dict[str, Any]]:
    """The hypotheses of a request, as from an engine, and the tree of all considered ones, as values for JSON.

    The tree is `{"beam_size", "nodes": [...]}`. A node has `id` (its place in the list), `parent` (None for the start),
    `text`, `begins`, `log_probability` (of all tokens so far), `probability` (of its own token), `step`, `state`,
    `reason`; one that ended also `score` and its text, `said`, and `best` where it is the translation. Raises
    `UserError` as an engine does.
    """
    check_request(request, model)
    end, classes, utf8 = model.end_id, model.output_size, Utf8.of(target)
    search = TracedBeam(request.width, start_id=model.start_id, end_id=end, classes=classes, utf8=utf8)
    search.admit([request], np.array([0]))
    source, valid = pad_rows([request.source], model.source_padding)
    with eval_mode(model) as device, torch.inference_mode():
        search_from(model, model.encode(source.to(device), valid.to(device)), search)
    hypotheses = search.results(0)
    for node in search.active_nodes:
        if search.nodes[node].get("state") == "continued":
            reason = "it could not win any more" if search.finished[0] else "it reached the length limit"
            search.nodes[node] |= {"state": "stopped", "reason": reason}
    return hypotheses, {"beam_size": request.width, "nodes": _drawn(search, target, hypotheses[0])}


def _drawn(search: TracedBeam, target: Tokenizer, best: Hypothesis) -> list[dict[str, Any]]:
    """The nodes in the form that the page draws."""
    nodes: list[dict[str, Any]] = [
        {"id": 0, "parent": None, "step": -1, "text": "", "role": "start", "log_probability": 0.0, "state": "continued"}
    ]
    paths: dict[int, tuple[int, ...]] = {0: ()}
    for noted in search.nodes[1:]:
        shown = candidate(target, noted["token"], noted["gain"], end=search.end_id)
        paths[noted["id"]] = path = (*paths[noted["parent"]], noted["token"])
        rest = {key: value for key, value in noted.items() if key not in ("token", "gain")}
        node = {**shown, "token": noted["token"], **rest, "step": len(path) - 1}
        ids = path[:-1] if node["state"] == "ended" else path
        if ids == best.ids and (node["state"] == "ended") == best.finished:
            node["best"] = True
        if node["state"] == "ended":
            node["said"] = drawable(target.decode(ids))  # tokens alone may be parts of a character
        nodes.append(node)
    return nodes
