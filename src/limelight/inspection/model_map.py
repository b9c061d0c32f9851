"""The map of a model: the vectors that flow through it for one sentence, and their norms.

Each stack (encoder, decoder) is a list of stages. A sub-layer of a Transformer reads the residual stream x, computes f,
and adds it to the stream:

    pre-norm: y = x + f(LayerNorm(x))        post-norm: y = LayerNorm(x + f(x))

`model_map` has the norms at every position, `inside` the vectors of one layer at one position.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch
from limelight.errors import UserError
from limelight.inspection.page_data import JsonObject, packed
from limelight.inspection.probe import Recording, heads_first, probe
from limelight.models.interface import Model, eval_mode
from limelight.models.recurrent.model import Recurrent
from limelight.models.transformer.layers import Sublayer
from limelight.models.transformer.model import Stack
from limelight.shapes import Float

SUBLAYERS = {
    "self": ("attention_sublayer", "attention"),
    "ssru": ("ssru_sublayer", "ssru"),
    "cross": ("cross_sublayer", "cross_attention"),
    "feed_forward": ("feed_forward_sublayer", "feed_forward"),
}
"""The residual connection and the function of each sub-layer, in their order in a layer."""

VECTORS = ("before", "read", "added", "sum", "after")
"""x, what f reads, f, x + f, and y."""

ROWS = {"encoder": "source", "decoder": "read"}
"""The side of the page's document whose tokens are the positions of a stack."""

UNITS, TOKENS = 8, 5
"""Numbers of activations of a feed-forward network, and of tokens that it raises, the largest first."""


class Stage(NamedTuple):
    """One box of the map."""

    what: str
    """`embedding`, `positions`, one of `SUBLAYERS`, `norm`; of recurrent models `recurrent`, `context`, `features`."""
    layer: int
    """-1 outside of layers."""
    vectors: tuple[Float[Tensor, "length model"], ...]
    """`VECTORS` where something is added to a stream, otherwise the result alone."""
    note: str = ""
    """Number and type of recurrent layers; positions that are no vectors."""

    def values(self) -> JsonObject:
        """Norms and cosines for JSON."""
        values = {
            "what": self.what,
            "layer": self.layer,
            "note": self.note,
            "norms": _packed(torch.stack([rows.norm(dim=-1) for rows in self.vectors])),
        }
        if len(self.vectors) == len(VECTORS):
            before, _, added, *_ = self.vectors
            values["cosine"] = _packed(torch.cosine_similarity(before, added, dim=-1, eps=1e-12))
        return values


def model_map(model: Model, batch: Batch) -> JsonObject:
    """The stacks of a model for a batch of one sentence, as values for JSON.

    A stage has `norms`, (1 or 5, positions), and `cosine` of what it adds and the stream before. `heat` are the
    embeddings and the positions that are added to them, (positions, model). Raises `UserError` for a model that has no
    encoder and no decoder.
    """
    stacks = []
    for side, stages in _flow(model, batch)[0].items():
        first = [stage for stage in stages if stage.what in ("embedding", "positions")]
        heat = [_packed(stage.vectors[2 if len(stage.vectors) > 1 else 0]) for stage in first]
        stacks.append({"side": side, "rows": ROWS[side], "heat": heat, "stages": [stage.values() for stage in stages]})
    return {"stacks": stacks}


def inside(model: Model, batch: Batch, side: str, layer: int, position: int) -> JsonObject:
    """One layer at one position: the `vectors` of each stage, (5, model), as `VECTORS`; of the feed-forward network
    its `size`, the number of `active` units (above zero), and the largest activations as `[unit, value]`; in the
    decoder `raised`, the tokens to whose output weights its result has the largest products, as `[token, value]`.

    Raises `UserError` for an unknown side, layer or position.
    """
    flow, seen = _flow(model, batch)
    stages = [stage for stage in flow.get(side, ()) if stage.layer == layer]
    if not stages or not 0 <= position < len(stages[0].vectors[0]):
        raise UserError(f"there is no position {position} in layer {layer} of {side!r}; they count from 0")
    document: JsonObject = {
        "stages": [
            {"what": stage.what, "vectors": _packed(torch.stack([vectors[position] for vectors in stage.vectors]))}
            for stage in stages
        ]
    }
    if calls := seen.modules.get(f"{side}.{layer}.units"):
        units = calls[0][0][0, position].float()
        top = units.topk(min(UNITS, len(units)))
        largest = [list(pair) for pair in zip(top.indices.tolist(), top.values.tolist(), strict=True)]
        document["units"] = {"size": len(units), "active": int((units > 0).sum()), "largest": largest}
        if side == "decoder":
            raised = (model.output_weights()[0].detach() @ stages[-1].vectors[2][position]).float().topk(TOKENS)
            document["raised"] = [
                list(pair) for pair in zip(raised.indices.tolist(), raised.values.tolist(), strict=True)
            ]
    return document


def _flow(model: Model, batch: Batch) -> tuple[dict[str, list[Stage]], Recording]:
    """The stages of each stack, and what the probe has recorded."""
    if isinstance(model, Recurrent):
        return _recurrent(model, batch)
    stacks = {side: stack for side, stack in model.named_children() if isinstance(stack, Stack)}
    if not stacks:
        raise UserError("this model has no encoder and no decoder to map")
    modules = dict(_modules(stacks))
    with eval_mode(model) as device, probe(model, modules=modules) as seen:
        model(batch.to(device))
        return {side: list(_stages(seen.modules, modules, side, stack)) for side, stack in stacks.items()}, seen


def _modules(stacks: dict[str, Stack]) -> Iterator[tuple[str, nn.Module]]:
    """The modules whose inputs and results are recorded, by name."""
    for side, stack in stacks.items():
        for name in ("embedding", "positions", "norm"):
            if (module := getattr(stack, name)) is not None:
                yield f"{side}.{name}", module
        for depth, layer in enumerate(stack.layers):
            for what, names in SUBLAYERS.items():
                sublayer, function = (getattr(layer, name, None) for name in names)
                if sublayer is not None and function is not None:
                    yield f"{side}.{depth}.{what}", sublayer
                    yield f"{side}.{depth}.{what}.function", function
            if (outer := getattr(layer.feed_forward, "outer", None)) is not None:
                yield f"{side}.{depth}.units", outer


def _stages(
    calls: dict[str, list[tuple[Any, Any]]], modules: dict[str, nn.Module], side: str, stack: Stack
) -> Iterator[Stage]:
    # An embedding that both sides share is called by the encoder first.
    embedded = calls[f"{side}.embedding"][0 if side == "encoder" else -1][1][0]
    yield Stage("embedding", -1, (embedded,), "rotary positions" if stack.rotary else "")
    if recorded := calls.get(f"{side}.positions"):
        placed = recorded[0][1][0]
        yield Stage("positions", -1, (embedded, embedded, placed - embedded, placed, placed))
    for name, module in modules.items():
        at, *rest = name.split(".")
        if at == side and isinstance(module, Sublayer):
            before, after = (states[0] for states in calls[name][0])
            added = calls[f"{name}.function"][0][1][0]
            read = module.norm(before) if module.norm_first else before
            yield Stage(rest[1], int(rest[0]), (before, read, added, before + added, after))
    if recorded := calls.get(f"{side}.norm"):
        yield Stage("norm", -1, (recorded[0][1][0],))


def _recurrent(model: Recurrent, batch: Batch) -> tuple[dict[str, list[Stage]], Recording]:
    """A recurrent model, one target position at a time."""
    modules, steps = {"source": model.encoder.embedding, "read": model.embedding}, []
    with eval_mode(model) as device, probe(model, weights=True, modules=modules) as seen:
        moved = batch.to(device)
        memory = model.encode(moved.source, moved.source_valid)
        source, state = seen.modules["source"][0][1][0], model.start(memory)
        for ids in moved.target_in.split(1, dim=1):
            features, state = model.step(ids, state)
            steps.append((seen.modules["read"][-1][1], state.top, features))
        contexts = [
            heads_first(call.weights)[0] @ heads_first(call.values)[0] for call in seen.calls.get("decoder.0.cross", ())
        ]
    read, tops, last = (torch.cat(parts, dim=1)[0] for parts in zip(*steps, strict=True))
    below, above = (f"{cells.num_layers} × {cells.mode}" for cells in (model.encoder.layers, model.decoder.cells.fused))
    encoder = [Stage("embedding", -1, (source,)), Stage("recurrent", 0, (memory.annotations[0],), below)]
    decoder = [Stage("embedding", -1, (read,)), Stage("recurrent", 0, (tops,), above)]
    if contexts:
        decoder.append(Stage("context", -1, (torch.cat(contexts, dim=1)[0],)))
    return {"encoder": encoder, "decoder": [*decoder, Stage("features", -1, (last,))]}, seen


def _packed(values: Tensor) -> JsonObject:
    return packed(values.float().cpu().numpy())
