"""The one mechanism that looks into a forward pass or changes it: torch hooks, within a context.

    with probe(model, weights=True, states=True) as seen:
        model(batch)
    seen.weights["decoder.1.cross"], seen.states["encoder.2"]

Models know nothing of it, and are the same before and after. Attentions are named `encoder.0.self`, `decoder.1.self`,
`decoder.1.cross`; state `encoder.k` is the vectors after k layers, before a final normalization, and 0 the embeddings.
Probes can be nested: an inner one records what the outer ones change. Passes in other threads are neither recorded nor
changed.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from limelight.attention.attend import Attend, ScoreFunction, attend
from limelight.batching.batch import Batch
from limelight.errors import UserError
from limelight.inspection.page_data import layers_of
from limelight.models.interface import Model, eval_mode
from limelight.models.transformer.model import Stack
from limelight.shapes import Bool, Float

ATTENTIONS = {"attention": "self", "cross_attention": "cross"}
"""The attribute of a layer, and the last part of the name of its attention."""


class Attended(NamedTuple):
    """One call of `attend`."""

    queries: Tensor
    keys: Tensor
    values: Tensor
    score: ScoreFunction
    may_attend: Bool[Tensor, "..."] | None
    causal: bool
    factors: Float[Tensor, "... query key"] | None
    """Of the weights, after the softmax."""
    weights: Tensor


Change = Callable[[Tensor], Tensor]


Factors = Mapping[str, Float[Tensor, " heads"]]
"""How much each head contributes, by the name of its attention: 1 keeps it, 0 switches it off."""


@dataclass(slots=True)
class Recording:
    """What a probe has recorded; of several passes, the last states and all calls of attentions."""

    calls: dict[str, list[Attended]] = field(default_factory=dict)
    states: dict[str, Float[Tensor, "batch length model"]] = field(default_factory=dict)
    modules: dict[str, list[tuple[Any, Any]]] = field(default_factory=dict)
    """The first argument and the result of each call of the modules that were asked for."""

    @property
    def weights(self) -> dict[str, Float[Tensor, "batch heads query key"]]:
        """The weights of each attention; the weights of a recurrent decoder, with a call for each position, are put
        together."""
        return {
            name: torch.cat([heads_first(call.weights) for call in calls], 2)
            for name, calls in self.calls.items()
            if calls
        }

    def layers(self, kind: str) -> list[Float[Tensor, "batch heads query key"]]:
        """The weights of a kind of attention, lowest layer first; none if the model has no such attention."""
        weights = self.weights
        return [weights[name] for name in layers_of(kind, weights)]

    def stack(self, side: str) -> list[Tensor]:
        """The states of `encoder` or `decoder`, the embeddings first."""
        return [state for name, state in self.states.items() if name.startswith(f"{side}.")]


@contextmanager
def probe(
    model: nn.Module,
    keep_heads: Factors | None = None,
    *,
    weights: bool = False,
    states: bool = False,
    change: Mapping[str, Change] | None = None,
    modules: Mapping[str, nn.Module] | None = None,
) -> Iterator[Recording]:
    """Record and change the passes of a model in this context and this thread.

    Args:
        keep_heads: factors of the output of the heads of some attentions.
        weights: record the calls of all attentions, with their weights; they take the readable path.
        states: record the states between the layers.
        change: by the name of a state, a function that replaces it.
        modules: record the first argument and the result of these modules, by any names.

    Raises `UserError` for a name that the model does not have.
    """
    attentions, factors, changes, thread = attentions_of(model), keep_heads or {}, change or {}, get_ident()
    layers = list(_states(model))
    known = [name for name, _, _ in layers]
    for name in factors.keys() - attentions | changes.keys() - known:
        raise UserError(
            f"unknown attention or state {name!r}; the model has {', '.join(attentions) or 'none'} for keep_heads, "
            f"and {', '.join(known) or 'none'} for change"
        )

    def here(hook: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given: hook(*given) if get_ident() == thread else None

    seen = Recording()
    with ExitStack() as hooks:
        for name, owner in attentions.items():
            if name in factors:
                hook = here(_scale(factors[name]))
                hooks.callback(owner.attend.register_forward_hook(hook).remove)
            if weights:
                hook = here(_record(seen.calls.setdefault(name, [])))
                hooks.callback(owner.attend.register_forward_hook(hook, with_kwargs=True, prepend=True).remove)
        for name, layer, enters in layers:
            if states or name in changes:
                hook = here(_keep(seen.states, name, changes.get(name)))
                register = layer.register_forward_pre_hook if enters else layer.register_forward_hook
                hooks.callback(register(hook).remove)
        for name, module in (modules or {}).items():
            calls = seen.modules.setdefault(name, [])
            hook = here(lambda _, given, output, calls=calls: calls.append((given[0], output)))
            hooks.callback(module.register_forward_hook(hook).remove)
        yield seen


def attention_of(model: Model, batch: Batch) -> Recording:
    """What a probe records of the attention in a pass in evaluation mode."""
    with eval_mode(model) as device, probe(model, weights=True) as seen:
        model(batch.to(device))
    return seen


def attentions_of(model: nn.Module) -> dict[str, Any]:
    """The modules that attend (`MultiHeadAttention`, or a recurrent decoder) by the names of their attentions. An
    ensemble has none: the names have a meaning in one model only."""
    modules = {}
    for path, module in model.named_modules():
        side, *rest = path.split(".")
        if isinstance(module, Attend) and side != "members":
            inside = len(rest) == 4 and rest[0] == "layers"
            name = f"{side}.{rest[1]}.{ATTENTIONS[rest[2]]}" if inside else f"{side}.0.cross"
            modules[name] = model.get_submodule(path.rpartition(".")[0])
    return modules


def _states(model: nn.Module) -> Iterator[tuple[str, nn.Module, bool]]:
    """The name of each state, and the layer that it enters or leaves."""
    for side, stack in model.named_children():
        for depth, layer in enumerate(stack.layers if isinstance(stack, Stack) else ()):
            if depth == 0:
                yield f"{side}.0", layer, True
            yield f"{side}.{depth + 1}", layer, False


def heads_first(part: Tensor) -> Float[Tensor, "batch heads length size"]:
    """With an axis for heads, which a recurrent decoder does not have."""
    return part if part.dim() == 4 else part[:, None]


def _scale(factors: Float[Tensor, " heads"]) -> Callable[..., Any]:
    """Of (batch, heads, length, size), or of one head (batch, length, size)."""
    return lambda _, given, context: context * factors.to(context)[:, *[None] * (context.dim() - 2)]


def _record(calls: list[Attended]) -> Callable[..., Any]:
    def hook(_: nn.Module, inputs: tuple[Tensor, ...], options: dict[str, Any], context: Tensor) -> Tensor:
        readable, weights = attend(*inputs, **options, want_weights=True)
        assert weights is not None
        causal, may_attend, factors = options.get("causal", False), options.get("may_attend"), options.get("factors")
        queries, keys, values = inputs
        calls.append(Attended(queries, keys, values, options["score"], may_attend, causal, factors, weights))
        return readable

    return hook


def _keep(states: dict[str, Tensor], name: str, change: Change | None) -> Callable[..., Any]:
    """A hook before a layer, which replaces its input, or after it, which has the output, too."""

    def hook(_: nn.Module, inputs: tuple[Any, ...], *output: Tensor) -> Any:
        state = output[0] if output else inputs[0]
        states[name] = state if change is None else change(state)
        return states[name] if output else (states[name], *inputs[1:])

    return hook
