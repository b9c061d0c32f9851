"""Packed weights: every linear layer of a model is replaced, and nothing else, so that it computes the same function
whatever its other modules do."""

import copy
from typing import Any, TypeVar

from torch import nn

from limelight.attention.scores import Score
from limelight.inference.linear import MakeLinear
from limelight.models.interface import Seq2Seq

ModelT = TypeVar("ModelT", bound=Seq2Seq)


def packed(model: ModelT, linear: MakeLinear) -> ModelT:
    """A copy of the model in evaluation mode with layers made by `linear`; all other tensors are shared.

    Left as they are: subclasses of `nn.Linear`, recurrent cells, whose fused kernel reads their weights, and scores,
    which are small and may use parts of a matrix.
    """
    twin = copy.deepcopy(model, {id(shared): shared for shared in (*model.parameters(), *model.buffers())})
    if hasattr(twin, "output"):
        final: Any = twin
        final.output, final.output_bias = linear(*model.output_weights()), None
    _replace(twin, linear)
    return twin.eval()


def _replace(module: nn.Module, linear: MakeLinear) -> None:
    for name, child in module.named_children():
        if type(child) is nn.Linear:
            setattr(module, name, linear(child.weight, child.bias))
        elif not isinstance(child, Score):
            _replace(child, linear)
