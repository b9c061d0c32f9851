"""A model whose every probability can be written down: what it predicts depends on the token read and on the source."""

import torch
from torch import Tensor, nn

from limelight.batching.batch import Batch
from limelight.models.interface import Seq2Seq
from tests.inspection.fakes import LETTERS


class BagModel(Seq2Seq):
    """logits(t) = W (read[y_(t-1)] + sum_s said[x_s]), in float64; with dropout, to show that it is switched off."""

    def __init__(self, width: int = 7) -> None:
        super().__init__()
        self.start_id, self.end_id = LETTERS.target.padding, 0
        self.source_padding, self.target_padding = LETTERS.source.padding, LETTERS.target.padding
        self.read = nn.Embedding(LETTERS.target.size, width, dtype=torch.float64)
        self.said = nn.Embedding(LETTERS.source.size, width, dtype=torch.float64)
        self.output = nn.Linear(width, self.output_size, bias=False, dtype=torch.float64)
        self.dropout = nn.Dropout(0.5)

    def forward(self, batch: Batch) -> Tensor:
        said = (self.said(batch.source) * batch.source_valid[..., None]).sum(dim=1, keepdim=True)
        return self.dropout(self.read(batch.target_in) + said)

    def project(self, features: Tensor) -> Tensor:
        return self.output(features)

    def encode(self, source, source_valid):
        raise NotImplementedError

    def start(self, memory):
        raise NotImplementedError

    def step(self, ids, state):
        raise NotImplementedError
