"""The position-wise feed-forward network."""

from torch import Tensor, nn

from limelight.errors import UserError
from limelight.layers.dropout import Dropout
from limelight.shapes import Float

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "swish": nn.SiLU}


class FeedForward(nn.Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2 (Vaswani et al. 2017, equation 2), or another activation for max(0, .)."""

    def __init__(self, d_model: int, d_ff: int, *, activation: str = "relu", dropout: float = 0.0) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise UserError(f"unknown activation {activation!r}: there are {', '.join(ACTIVATIONS)}")
        self.inner = nn.Linear(d_model, d_ff)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = Dropout(dropout)
        self.outer = nn.Linear(d_ff, d_model)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, inputs: Float[Tensor, "... model"]) -> Float[Tensor, "... model"]:
        """Each position on its own."""
        return self.outer(self.dropout(self.activation(self.inner(inputs))))
