"""The residual connection and the layer normalization around every sub-layer."""

from torch import Tensor, nn

from limelight.layers.dropout import Dropout
from limelight.shapes import Float


class Sublayer(nn.Module):
    """What stands before and after a sub-layer f.

    After it, as in the paper: LayerNorm(x + Dropout(f(x))) (Vaswani et al. 2017, section 5.4).
    Before it: x + Dropout(f(LayerNorm(x))) (Xiong et al. 2020), which trains without a long warm-up and wants one more
    LayerNorm at the end of the stack.
    """

    def __init__(self, norm: nn.LayerNorm, *, dropout: float, norm_first: bool) -> None:
        super().__init__()
        self.norm_first = norm_first
        self.norm = norm
        self.dropout = Dropout(dropout)

    def before(self, inputs: Float[Tensor, "batch length model"]) -> Float[Tensor, "batch length model"]:
        """What the sub-layer is given."""
        return self.norm(inputs) if self.norm_first else inputs

    def after(
        self, inputs: Float[Tensor, "batch length model"], output: Float[Tensor, "batch length model"]
    ) -> Float[Tensor, "batch length model"]:
        """The residual sum of the inputs and what the sub-layer made of them."""
        total = inputs + self.dropout(output)
        return total if self.norm_first else self.norm(total)
