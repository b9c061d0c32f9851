"""Optimizers: Adam for all parameters, or Muon for the inner matrices and Adam for the rest."""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from limelight.capabilities import multiplies_bf16
from limelight.config import TrainingConfig
from limelight.errors import UserError
from limelight.layers.embedding import LearnedPositions, TokenEmbedding
from limelight.shapes import Float

DEFAULTS = TrainingConfig()
MOMENTUM = 0.95
LENGTH = 0.4
"""Root mean square of the elements of an orthogonal step at rate 1; Adam's is between 0.2 and 0.4 (Liu et al. 2025,
section 2.2), so that one learning rate suits both."""
QUINTIC = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
"""Newton-Schulz iterations: after 5 all singular values are between 0.7 and 1.2 (Jordan et al. 2024)."""


def freeze(model: nn.Module, parts: Iterable[str]) -> None:
    """Exclude the weights of some parts from training (`training.freeze`); a tied weight belongs to several parts.

    Raises `UserError` for a part without weights, and if nothing is left to train.
    """
    for part in parts:
        weights = [
            weight
            for name, module in model.named_modules(remove_duplicate=False)
            if name == part or (part == "embeddings" and isinstance(module, TokenEmbedding))
            for weight in module.parameters()
        ]
        if not weights:
            known = ", ".join(["embeddings", *(name for name, _ in model.named_children())])
            raise UserError(f"training.freeze={part}: this model has no such part with weights; it has {known}")
        for weight in weights:
            weight.requires_grad_(False)
    if not any(weight.requires_grad for weight in model.parameters()):
        raise UserError("training.freeze: nothing is left to train; freeze fewer parts")


def make_optimizer(model: nn.Module, training: TrainingConfig = DEFAULTS) -> torch.optim.Optimizer:
    """Adam (Kingma & Ba 2015) in its fused form, decay decoupled from the gradient (Loshchilov & Hutter 2019), or Muon.

    Vectors (biases, norms) are not decayed. The caller sets the learning rate before each step.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in parameters if parameter.ndim >= 2]
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": training.weight_decay},
        {"params": [parameter for parameter in parameters if parameter.ndim < 2], "weight_decay": 0.0},
    ]
    settings: dict[str, Any] = {
        "lr": 0.0, "betas": (training.beta1, training.beta2), "eps": training.epsilon, "fused": True
    }  # fmt: skip
    if training.optimizer == "adam":
        return torch.optim.AdamW(groups, **settings)
    outer = {id(weight) for weight in _outer_weights(model)}
    inner = [parameter for parameter in matrices if parameter.ndim == 2 and id(parameter) not in outer]
    return Muon(inner, groups, **settings)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """The learning rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate


class Muon(torch.optim.AdamW):
    """Muon for matrices, Adam for all other parameters. Steps of a matrix are orthogonalized, so that all directions
    have a similar size (Jordan et al. 2024; Bernstein & Newhouse 2024).

    A step of a matrix is `LENGTH sqrt(max(rows, columns))` times the nearest orthogonal matrix to Nesterov's momentum.
    On a CPU it takes about a seventh of an update of `small`; docs/performance.md has the gains.
    """

    def __init__(self, inner: list[nn.Parameter], groups: list[dict[str, Any]], **settings: Any) -> None:
        """`inner` are the parameters in `groups` that get orthogonal steps."""
        super().__init__(groups, **settings)
        self._inner = {id(parameter) for parameter in inner}

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One optimizer step. The gradients of the matrices are removed. As in fused AdamW, nothing changes if
        `found_inf` is set and not zero; no one waits for its value."""
        found_inf = getattr(self, "found_inf", None)
        for group in self.param_groups:
            of_a_shape = defaultdict[tuple[int, ...], list[nn.Parameter]](list)
            for parameter in group["params"]:
                if id(parameter) in self._inner and parameter.grad is not None:
                    of_a_shape[tuple(parameter.shape)].append(parameter)
            for alike in of_a_shape.values():
                steps = orthogonal(torch.stack([self._direction(parameter, found_inf) for parameter in alike]))
                kept: Tensor | float = 1 - group["lr"] * group["weight_decay"]
                if found_inf is not None:
                    steps, kept = steps.where(found_inf == 0, 0.0), torch.where(found_inf == 0, kept, 1.0)
                for parameter, step in zip(alike, steps.unbind(), strict=True):
                    parameter.mul_(kept).add_(step, alpha=-group["lr"] * LENGTH * math.sqrt(max(parameter.shape)))
                    parameter.grad = None
        super().step()  # Adam skips parameters without a gradient

    def _direction(self, parameter: nn.Parameter, found_inf: Tensor | None) -> Tensor:
        """Add the gradient to the momentum, and return Nesterov's momentum: the gradient plus the momentum of all
        gradients."""
        assert parameter.grad is not None
        state = self.state[parameter]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(parameter)
        momentum, gradient = state["momentum"], parameter.grad
        # A gradient equal to the momentum leaves it as it is.
        gradient = gradient if found_inf is None else gradient.where(found_inf == 0, momentum)
        momentum.lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(momentum, MOMENTUM)


def orthogonal(matrices: Float[Tensor, "batch rows columns"]) -> Float[Tensor, "batch rows columns"]:
    """Approximately U V' for each matrix U S V', by five iterations of X <- a X + b (X X') X + c (X X')^2 X.

    In bf16 if the hardware supports it: the rounding error is smaller than the error of the iterations.
    """
    tall = matrices.shape[1] > matrices.shape[2]
    result = matrices.mT if tall else matrices
    result = result / result.norm(dim=(1, 2), keepdim=True).clamp_min(1e-7)
    if multiplies_bf16(matrices.device):
        result = result.bfloat16()
    a, b, c = QUINTIC
    for _ in range(ITERATIONS):
        square = result @ result.mT
        result = torch.baddbmm(result, torch.baddbmm(square, square, square, beta=b, alpha=c), result, beta=a)
    return (result.mT if tall else result).to(matrices.dtype)


def _outer_weights(model: nn.Module) -> Iterable[Tensor]:
    """The embeddings and output matrices, whose rows are tokens or positions: most rows have no gradient in a step."""
    for module in model.modules():
        if isinstance(module, TokenEmbedding):
            yield module.weight
        elif isinstance(module, LearnedPositions):
            yield module.table
    output = getattr(model, "output", None)
    if isinstance(output, nn.Linear):
        yield output.weight
