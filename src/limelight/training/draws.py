"""Random numbers of training, such as dropout, as a function of the seed, the update and the batch.

So no random state has to be stored, and it does not matter which process computes a batch.
"""

import numpy as np
import torch


def seed_draws(device: torch.device, *, seed: int, step: int, batch: int) -> None:
    """Seed torch's generators of the CPU and of `device` for one batch of one update.

    Only these two: `torch.manual_seed` would seed every GPU.
    """
    (value,) = np.random.SeedSequence([seed, step, batch]).generate_state(1, np.uint64)
    torch.default_generator.manual_seed(int(value))
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(int(value))
    elif device.type == "mps":
        torch.mps.manual_seed(int(value))
