"""The trace of a beam search: every hypothesis that was considered, its parent, and why it was not continued.

The search is the engine's own (`decoding/search.py`), for one request at a time, with the engine's own step; the
subclass only records.

| state       | outcome of a hypothesis                                                                        |
|-------------|------------------------------------------------------------------------------------------------|
| `continued` | among the `beam_size` best of its step: it became active                                       |
| `ended`     | finished, among the first `beam_size`; translations are ranked by its `score`                  |
| `outscored` | others of its step were more probable                                                          |
| `pruned`    | too far below the best                                                                         |
| `stopped`   | active when the search was decided: it could not win any more, or reached the length limit     |
"""

import numpy as np
from torch import Tensor

from limelight.batching.batch import pad_rows
from limelight.decoding.engine import search_from
from limelight.decoding.host import Integers, Numbers
from limelight.decoding.request import Hypothesis, Request, check_request
from limelight.decoding.search import Search
from limelight.errors import drawable
from limelight.inspection.coverage import ranked
from limelight.inspection.look_up import candidate
from limelight.inspection.page_data import JsonObject
from limelight.models.interface import Active, Seq2Seq, eval_mode
from limelight.tokens import END, Tokenizer


class TracedBeam(Search):
    """The beam search of one request, in slot 0, which records every continuation that it ranked."""

    def __init__(self, request: Request, model: Seq2Seq, target: Tokenizer) -> None:
        super().__init__(model, request.width)
        self.target = target
        self.nodes: list[JsonObject] = [
            {"id": 0, "parent": None, "step": -1, "text": "", "role": "start", "log_probability": 0.0,
             "state": "continued"}
        ]  # fmt: skip
        self.paths: list[tuple[int, ...]] = [()]
        """The tokens of each node, from the beginning."""
        self.active_nodes = [0] * self.width
        """The node of each active hypothesis."""
        self._pruned_below = np.array([-np.inf])
        self.admit([request], np.array([0]))

    def advance(
        self, log_probabilities: Tensor, active: Active, ids: Integers | None = None
    ) -> tuple[Integers, Integers]:
        before, length = self.log_probabilities[0].copy(), int(self.positions[0]) + 1
        moved, decided = super().advance(log_probabilities, active, ids)
        places = dict[tuple[int, int], int]()
        parents_of = self.active_nodes
        if int(self.positions[0]) == length:  # it went on
            self.active_nodes = [0] * self.width
            slots = np.flatnonzero(self.log_probabilities[0] > -np.inf).tolist()
            places = {(int(moved[0, slot]), int(self.ids[0, slot])): slot for slot in slots}
        offered = zip(*(part[0].tolist() for part in self._offered), strict=True)
        for rank, (gain, parent, token) in enumerate(offered):
            total = float(gain + before[parent])
            if total == -np.inf:
                continue
            slot = places.get((parent, token))
            number, origin = len(self.nodes), parents_of[parent]
            self.paths.append((*self.paths[origin], token))
            self.nodes.append(
                candidate(self.target, token, gain, end=END)
                | {"id": number, "token": token, "parent": origin, "step": len(self.paths[origin])}
                | {"log_probability": total, **self._became(rank, total, token, slot, length)}
            )
            if slot is not None:
                self.active_nodes[slot] = number
        return moved, decided

    def _became(self, rank: int, total: float, token: int, slot: int | None, length: int) -> JsonObject:
        """State and reason of the continuation with this rank."""
        if total < self._pruned_below[0]:
            return {"state": "pruned", "reason": "too far below the best to win"}
        if token == END and rank < self.width:
            score = self.score(0, total, length)
            return {"state": "ended", "score": score, "reason": f"ended with a score of {score:.3f}"}
        if slot is not None:
            return {"state": "continued", "reason": f"number {slot + 1} of {self.width} active hypotheses"}
        at_limit = int(self.limits[0]) == length - 1
        reason = "it reached the length limit" if at_limit else f"{self.width} others were more probable"
        return {"state": "outscored", "reason": reason}

    def _continuations(
        self, log_probabilities: Tensor, active: Active, ids: Integers | None
    ) -> tuple[Numbers, Integers, Integers]:
        self._offered = super()._continuations(log_probabilities, active, ids)
        return self._offered

    def _threshold(self, slots: Integers, best: Numbers) -> Numbers:
        self._pruned_below = super()._threshold(slots, best)
        return self._pruned_below


def beam_tree(model: Seq2Seq, target: Tokenizer, request: Request) -> tuple[list[Hypothesis], JsonObject]:
    """The hypotheses of a request, as from an engine, and the tree of all considered ones, as values for JSON.

    The tree is `{"beam_size", "nodes": [...]}`. A node has `id` (its place in the list), `parent` (None for the start),
    `text`, `begins`, `log_probability` (of all tokens so far), `probability` (of its own token), `step`, `state`,
    `reason`; one that ended also `score` and its text, `said`, and `best` where it is the translation. Raises
    `UserError` as an engine does.
    """
    check_request(request, model)
    search = TracedBeam(request, model, target)
    source, valid = pad_rows([request.source], model.source_padding)
    with eval_mode(model) as device:
        search_from(model, model.encode(source.to(device), valid.to(device)), search)
    hypotheses = list(ranked(model, request, search.results(0)))
    for number in search.active_nodes:
        if search.nodes[number]["state"] == "continued" and number:
            at_limit = search.nodes[-1]["step"] == search.limits[0]  # which may only end
            reason = "it reached the length limit" if at_limit else "it could not win any more"
            search.nodes[number] |= {"state": "stopped", "reason": reason}
    best = hypotheses[0]
    for node, path in zip(search.nodes[1:], search.paths[1:], strict=True):
        ended = node["state"] == "ended"
        if ended:
            node["said"] = drawable(target.decode(path))  # tokens alone may be parts of a character
        if path == (*best.ids, *[model.end_id] * ended) and ended == best.finished:
            node["best"] = True
    return hypotheses, {"beam_size": request.width, "nodes": search.nodes}
