"""A forward and backward pass that torch.compile has compiled, in place of a Transformer's own (`training.compile`).

One sample batch compiles both passes for any sizes before the first update. A batch for which that code does not hold,
as one with a single row, is computed by the model as it is. So the compiled code depends on the configuration alone,
and not on which batch came first: a resumed run computes with the same code.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from limelight.batching.batch import Batch, make_batch, make_blocks, pad_rows
from limelight.errors import UserError
from limelight.models.interface import Model
from limelight.models.transformer import Transformer
from limelight.models.transformer.decoder_only import DecoderOnly
from limelight.shapes import Float

BACKEND = "inductor"
ROWS, SOURCE, TARGET = 40, 27, 31
"""The sizes of the sample batch. Three different numbers: sizes that are equal would be compiled as one."""


class Compiled:
    """Replaces a model while losses are computed; weights and gradients are the model's.

    The random numbers of dropout are those of the model, so losses and gradients are equal but for rounding. Validation
    and the saved model are independent of it.
    """

    def __init__(self, model: Model, backend: str | Callable[..., object] = BACKEND) -> None:
        self._model = model
        # Random numbers of torch's own kernels, not of generated code, which draws others.
        options: dict[str, Any] | None = {"fallback_random": True} if backend == "inductor" else None
        self._forward = torch.compile(model, dynamic=True, fullgraph=True, backend=backend, options=options)

    def __call__(self, batch: Batch) -> Float[Tensor, "batch length features"]:
        """Features at every place of `batch.target_out`."""
        with torch.compiler.set_stance("eager_on_recompile"):
            return self._forward(batch)

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        """Those of the model."""
        return self._model.output_weights()

    def compile(self, batch: Batch) -> None:
        """Compile both passes, with a batch whose sizes are all different and above 1. Raises whatever the compiler
        raises. It leaves gradients, which an update clears before its own."""
        self._forward(batch).square().sum().backward()


def compiled_or_none(model: Model, device: torch.device, say: Callable[[str], None]) -> Compiled | None:
    """The model with compiled passes; None, and one line to `say`, where this machine cannot compile them."""
    compiled = Compiled(model)
    say("compiling the model (training.compile) ...")
    try:
        compiled.compile(sample_batch(model).to(device))
    except Exception as error:  # of a compiler: dozens of kinds
        cause = getattr(error, "inner_exception", error)
        reason = next((line.strip() for line in str(cause).splitlines() if line.strip()), "")
        say(
            f"training.compile: the model cannot be compiled on this machine ({type(cause).__name__}: {reason[:200]}); "
            "training continues without"
        )
        return None
    return compiled


def sample_batch(model: Model) -> Batch:
    """A batch of made-up tokens, with padding on both sides."""
    if isinstance(model, DecoderOnly):
        ids, _ = pad_rows([[1] * (TARGET + 1)] * ROWS, 1)
        return make_blocks(ids.numpy())
    assert isinstance(model, Transformer)
    sources, targets = ([[1] * (longest - 1 - row % 4) for row in range(ROWS)] for longest in (SOURCE, TARGET))
    return make_batch(
        sources, targets, start=model.start_id, end=model.end_id,
        source_padding=model.source_padding, target_padding=model.target_padding,
    )  # fmt: skip


def require_compilable(model: Model) -> None:
    """Raise `UserError` for a model whose passes cannot be compiled as a whole."""
    if not isinstance(model, Transformer | DecoderOnly):
        raise UserError(
            f"training.compile=true is for models of the families transformer and decoder_only, and this is a "
            f"{type(model).__name__}; leave it out"
        )
