"""Label-smoothed cross-entropy as a sum; the caller divides once, by all real tokens of an update.

With a vocabulary of 32,000 the logits of 4,000 tokens take half a gigabyte in fp32, and so does their gradient. Here
logits are computed in chunks of rows, converted to their gradient, multiplied into the gradients of features and
weights, and overwritten by the next chunk. So the forward pass computes the gradients; the backward pass scales them.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn import functional

from limelight.batching.batch import Batch
from limelight.registry import Registry
from limelight.shapes import Float, Int

ROWS = 1024
"""Rows of logits in a chunk on a CPU. With fewer, the gradient of the weights is accumulated in more steps, each of
which reads and writes all of it: with 128 the loss of 32,000 tokens takes a tenth longer."""
LOGITS = 2**27
"""Logits in a chunk on a GPU, where many small products would leave most of it idle."""


def linear_cross_entropy(
    features: Float[Tensor, "rows features"],
    weight: Float[Tensor, "vocab features"],
    bias: Float[Tensor, " vocab"] | None,
    targets: Int[Tensor, " rows"],
    *,
    label_smoothing: float,
) -> Float[Tensor, ""]:
    """-sum_i sum_k q_i(k) log softmax(W f_i + b)(k), q_i = (1 - e) [k = targets_i] + e / V, natural logarithm.

    Equals `functional.cross_entropy(linear(features, weight, bias), targets, reduction="sum", label_smoothing=e)`.
    Products are in the precision of their factors (or of autocast), sums in at least fp32. It can be differentiated
    once.
    """
    kind = features.device.type
    if torch.is_autocast_enabled(kind):
        narrow = torch.get_autocast_dtype(kind)
        features, weight = features.to(narrow), weight.to(narrow)
        bias = None if bias is None else bias.to(narrow)
    with torch.autocast(kind, enabled=False):
        if torch.is_grad_enabled():
            return _LinearCrossEntropy.apply(features, weight, bias, targets, label_smoothing)
        return _loss_alone(features, weight, bias, targets, label_smoothing)


def _loss_alone(
    features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, label_smoothing: float
) -> Tensor:
    """The loss without gradients."""
    total = features.new_zeros((), dtype=_wide(features.dtype))
    for part in _parts(features, weight):
        logits = functional.linear(features[part], weight, bias).to(total.dtype)
        total += functional.cross_entropy(logits, targets[part], reduction="sum", label_smoothing=label_smoothing)
    return total


class _LinearCrossEntropy(torch.autograd.Function):
    """Loss and gradients in one pass over chunks of rows.

    With logits z_i = W f_i + b, p_i = softmax(z_i), Z_i = sum_k exp(z_i(k)), and V tokens:

        loss = sum_i [log Z_i - (1 - e) z_i(y_i) - e / V sum_k z_i(k)]        d loss / d z_i(k) = p_i(k) - q_i(k)

    The softmax also gives the loss: log p(y) of a row is the logarithm of the softmax at y. In bf16 it has three
    digits, as logits have, and rounding errors cancel in the sum.
    """

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, label_smoothing: float
    ) -> Tensor:
        chunk = min(len(features), _rows(weight)), len(weight)
        logits_buffer, gradient_buffer = (features.new_empty(chunk) for _ in range(2))
        grad_features = torch.empty_like(features)
        # In bf16 a sum of 16 chunks is off by 0.5 % and in fp32 by 0.2 %. On a CPU, with few chunks, it would take a
        # tenth more time.
        kind = weight.dtype if weight.is_cpu else _wide(weight.dtype)
        grad_weight = torch.zeros_like(weight, dtype=kind) if ctx.needs_input_grad[1] else None  # of a frozen weight
        grad_bias = None if bias is None else torch.zeros_like(bias, dtype=_wide(bias.dtype))
        total = features.new_zeros((), dtype=_wide(features.dtype))
        for part in _parts(features, weight):
            chosen, rows = features[part], part.stop - part.start
            logits, gradient = logits_buffer[:rows], gradient_buffer[:rows]
            torch.mm(chosen, weight.T, out=logits)
            if bias is not None:
                logits += bias
            torch.softmax(logits, dim=-1, out=gradient)
            total += _from_softmax(logits, gradient, targets[part], label_smoothing)
            if label_smoothing:
                gradient -= label_smoothing / len(weight)
            # Each row has one element to change, so plain indexing suffices: `scatter_add_` would copy all others.
            gradient[torch.arange(rows, device=gradient.device), targets[part]] -= 1 - label_smoothing
            torch.mm(gradient, weight, out=grad_features[part])
            if grad_weight is not None and grad_weight.dtype == chosen.dtype:
                grad_weight.addmm_(gradient.T, chosen)
            elif grad_weight is not None:
                grad_weight += gradient.T @ chosen
            if grad_bias is not None:
                grad_bias += gradient.sum(0, dtype=grad_bias.dtype)
        if label_smoothing:
            # The sum of the logits over all rows and tokens, sum_i f_i . sum_k w_k, without computing them.
            sum_of_logits = features.sum(0, dtype=total.dtype) @ weight.sum(0, dtype=total.dtype)
            if bias is not None:
                sum_of_logits = sum_of_logits + len(features) * bias.sum(dtype=total.dtype)
            total -= label_smoothing / len(weight) * sum_of_logits
        narrow = (None if sum_of is None else sum_of.to(weight.dtype) for sum_of in (grad_weight, grad_bias))
        ctx.save_for_backward(grad_features, *narrow)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return *(None if saved is None else saved * gradient for saved in ctx.saved_tensors), None, None


def _from_softmax(logits: Tensor, probabilities: Tensor, targets: Tensor, label_smoothing: float) -> Tensor:
    """sum_i log Z_i - (1 - e) logit_i(y_i): the loss without the uniform part of the smoothing."""
    wide = _wide(logits.dtype)
    of_truth = logits.gather(1, targets[:, None])[:, 0].to(wide)
    truth = probabilities.gather(1, targets[:, None])[:, 0].to(wide)
    surprise = -truth.log()
    # Subnormal numbers have fewer digits, and some processors flush them to zero.
    small = truth < torch.finfo(probabilities.dtype).smallest_normal
    if logits.device.type != "cpu" or small.any():  # on a GPU `any` would have to be waited for
        # If the probability is too small: log Z by the most probable token.
        normalizer = logits.amax(1).to(wide) - probabilities.amax(1).to(wide).log()
        surprise = torch.where(small, normalizer - of_truth, surprise)
    return (surprise + label_smoothing * of_truth).sum()


def _rows(weight: Tensor) -> int:
    """Rows of a chunk."""
    return ROWS if weight.is_cpu else max(ROWS, LOGITS // len(weight))


def _parts(features: Tensor, weight: Tensor) -> Iterator[slice]:
    """Slices that cover all rows."""
    step = _rows(weight)
    for first in range(0, len(features), step):
        yield slice(first, min(first + step, len(features)))


def _wide(dtype: torch.dtype) -> torch.dtype:
    """The type of sums."""
    return torch.float64 if dtype == torch.float64 else torch.float32


@runtime_checkable  # the types are checked in tests
class LossModel(Protocol):
    """The interface of a model for the loss."""

    def __call__(self, batch: Batch) -> Float[Tensor, "batch length features"]:
        """Features of every position of `batch.target_out`."""

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        """The final linear layer, from features to logits."""


def batch_loss(model: LossModel, batch: Batch, *, label_smoothing: float) -> Float[Tensor, ""]:
    """The loss of a batch, summed over its real target tokens (natural logarithm).

    With smoothing e the target distribution is (1 - e) on the true token plus e / V on each of the V tokens, including
    the true one (Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4). Some toolkits exclude the true
    token from the second part: the same e is slightly more smoothing there.

    Padding is removed before the final linear layer, which is expensive with a large vocabulary.
    """
    features, targets = without_padding(model(batch), batch)
    weight, bias = model.output_weights()
    return linear_cross_entropy(features, weight, bias, targets, label_smoothing=label_smoothing)


LossFunction = Callable[[LossModel, Batch], Float[Tensor, ""]]
"""The loss of a batch, summed over its real target tokens; the caller divides by all tokens of an update."""

LOSSES: Registry[Callable[..., Float[Tensor, ""]]] = Registry("loss", {"cross_entropy": batch_loss})
"""Losses by name, called as `batch_loss` is."""
register_loss = LOSSES.register


def without_padding(
    features: Float[Tensor, "batch target features"], batch: Batch
) -> tuple[Float[Tensor, "rows features"], Int[Tensor, " rows"]]:
    """Features and targets of real tokens. By index: with a mask the host would wait for a GPU to count them."""
    targets = batch.target_out.flatten().index_select(0, batch.predicted)
    return features.flatten(0, 1).index_select(0, batch.predicted), targets
