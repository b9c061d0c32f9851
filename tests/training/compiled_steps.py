"""In a process of its own, without the checks of shapes, which torch.compile cannot read: passes of a Transformer as
torch.compile has traced them beside its own. Prints a line of JSON: the largest difference of a loss or gradient, and
how many graphs there were after the sample batch and at the end, and how many batches were computed by them."""

import json

import torch
from torch import Tensor

from limelight.batching.batch import Batch
from limelight.models.interface import Model
from limelight.training.optimization.loss import LossModel, batch_loss
from limelight.training.optimization.update import Compiled, sample_batch
from limelight.training.shares import seed_draws
from tests.models.helpers import make_model, random_batch, transformer


def results(learner: LossModel, model: Model, batch: Batch) -> list[Tensor]:
    """The loss and all gradients, with the same dropout every time."""
    model.zero_grad(set_to_none=True)
    seed_draws(torch.device("cpu"), seed=1, step=2, batch=3)
    loss = batch_loss(learner, batch, label_smoothing=0.1)
    loss.backward()
    return [loss.detach(), *(parameter.grad for parameter in model.parameters() if parameter.grad is not None)]


def main() -> None:
    graphs, calls = [], []

    def traced(graph: torch.fx.GraphModule, _: list[Tensor]) -> object:
        graphs.append(graph)
        return lambda *given: calls.append(1) or graph.forward(*given)

    model = make_model(transformer(dropout=0.2, encoder_layers=1, decoder_layers=1)).train()
    learner = Compiled(model, backend=traced)
    learner.compile(sample_batch(model))
    calls.clear()
    at_first, apart = len(graphs), 0.0
    for rows, source, target in ((3, 12, 15), (5, 11, 11), (1, 14, 13), (4, 3, 2), (2, 290, 280), (3, 12, 15)):
        batch = random_batch(model, [source - row % 2 for row in range(rows)], [target] * rows)
        for one, other in zip(results(learner, model, batch), results(model, model, batch), strict=True):
            apart = max(apart, float((one - other).abs().max()))
        with torch.no_grad():
            model(random_batch(model, [700], [710]))  # as in a validation
    print(json.dumps({"apart": apart, "graphs": [at_first, len(graphs)], "calls": len(calls)}))


if __name__ == "__main__":
    main()
