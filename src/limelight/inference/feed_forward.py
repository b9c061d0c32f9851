"""The position-wise network with packed weights."""

from torch import Tensor, nn

from limelight.inference.linear import MakeLinear
from limelight.layers.feed_forward import FeedForward
from limelight.shapes import Float


class PackedFeedForward(nn.Module):
    """The same network without dropout; a ReLU works in place."""

    def __init__(self, feed_forward: FeedForward, linear: MakeLinear) -> None:
        super().__init__()
        self.inner = linear(feed_forward.inner.weight, feed_forward.inner.bias)
        kind = type(feed_forward.activation)
        self.activation = nn.ReLU(inplace=True) if kind is nn.ReLU else kind()
        self.outer = linear(feed_forward.outer.weight, feed_forward.outer.bias)

    def forward(self, inputs: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        """Each position on its own."""
        return self.outer(self.activation(self.inner(inputs)))
