"""A GPT and its training loop as one would write them with torch and nothing else: what `gpt-tiny` is held against.

    python -m benchmarks.plain_gpt TEXT

The setting is that of nanoGPT on a CPU (Karpathy 2022): 4 layers, 4 heads, d=128, characters, 12 random blocks of 64 in
a batch, 2,000 updates of AdamW in fp32, the rate falling from 1e-3 to 1e-4; every 250 updates 20 batches of training
and of validation text are looked at. The last line printed is JSON.
"""

import json
import math
import time
from pathlib import Path
from typing import Annotated

import torch
import typer
from torch import Tensor, nn
from torch.nn import functional

from limelight.formats.opening import open_text

BLOCK, ROWS, UPDATES, LOOK_EVERY, LOOKED_AT = 64, 12, 2000, 250, 20
WIDTH, HEADS, LAYERS = 128, 4, 4


class Layer(nn.Module):
    """Masked self-attention and a feed-forward network, each after a LayerNorm and inside a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.joint, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, hidden: Tensor) -> Tensor:
        rows, length, _ = hidden.shape
        parts = self.joint(self.first(hidden)).view(rows, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        context = functional.scaled_dot_product_attention(*parts, is_causal=True)
        hidden = hidden + self.out(context.transpose(1, 2).reshape(rows, length, WIDTH))
        return hidden + self.narrow(functional.gelu(self.wide(self.second(hidden))))


class PlainGPT(nn.Module):
    """Learned positions, tied embeddings, GPT-2's initial weights (Radford et al. 2019)."""

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.pieces, self.places = nn.Embedding(characters, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.layers, self.norm = nn.Sequential(*(Layer() for _ in range(LAYERS))), nn.LayerNorm(WIDTH, bias=False)
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                scale = 1 / math.sqrt(2 * LAYERS) if name.endswith(("out.weight", "narrow.weight")) else 1.0
                nn.init.normal_(weight, std=0.02 * scale)

    def forward(self, ids: Tensor, following: Tensor) -> Tensor:
        hidden = self.pieces(ids) + self.places.weight[: ids.shape[1]]
        logits = functional.linear(self.norm(self.layers(hidden)), self.pieces.weight)
        return functional.cross_entropy(logits.flatten(0, 1), following.flatten())


def main(
    text: Annotated[Path, typer.Argument(help="Plain text; its last tenth is held out.")],
    updates: Annotated[int, typer.Option(help="Updates in all.")] = UPDATES,
) -> None:
    """Train, look at both parts now and then, and print what came of it."""
    torch.manual_seed(1337)
    with open_text(text) as file:
        characters = file.read().decode()
    number = {character: place for place, character in enumerate(sorted(set(characters)))}
    ids = torch.tensor([number[character] for character in characters])
    train, valid = ids[: int(0.9 * len(ids))], ids[int(0.9 * len(ids)) :]
    model = PlainGPT(len(number))
    matrices = [weight for weight in model.parameters() if weight.ndim == 2]
    vectors = [weight for weight in model.parameters() if weight.ndim < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    begin, spent, best = time.perf_counter(), [], math.inf
    for step in range(updates + 1):
        if step % LOOK_EVERY == 0:
            look(model, train)
            best = min(best, look(model, valid))
        if step == updates:
            break
        since = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = rate(step, updates)
        loss = model(*blocks(train))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        spent.append(time.perf_counter() - since)
    result = {
        "loss": best,
        "loss_of_all": whole_loss(model, valid),
        "seconds": time.perf_counter() - begin,
        "milliseconds_of_an_update": 1000 * sorted(spent)[len(spent) // 2],
    }
    print(json.dumps(result))


def blocks(ids: Tensor) -> tuple[Tensor, Tensor]:
    """Random blocks, and the same one place further."""
    starts = torch.randint(len(ids) - BLOCK, (ROWS, 1))
    found = ids[starts + torch.arange(BLOCK + 1)]
    return found[:, :-1], found[:, 1:]


def rate(step: int, updates: int) -> float:
    """Linear for 100 updates, then a cosine from 1e-3 to 1e-4."""
    if step < 100:
        return 1e-3 * (step + 1) / 101
    done = (step - 100) / (updates - 100)
    return 1e-4 + 0.5 * (1 + math.cos(math.pi * done)) * (1e-3 - 1e-4)


@torch.no_grad()
def look(model: PlainGPT, ids: Tensor) -> float:
    """The mean loss of some batches."""
    return sum(model(*blocks(ids)).item() for _ in range(LOOKED_AT)) / LOOKED_AT


@torch.no_grad()
def whole_loss(model: PlainGPT, ids: Tensor) -> float:
    """The mean loss of all of a text, block after block."""
    count = (len(ids) - 1) // BLOCK
    rows = ids[: count * BLOCK].view(count, BLOCK), ids[1 : count * BLOCK + 1].view(count, BLOCK)
    return (
        sum(model(*pair).item() * len(pair[0]) for pair in zip(*(side.split(256) for side in rows), strict=True))
        / count
    )


if __name__ == "__main__":
    typer.run(main)
