"""What training draws at random, dropout above all, as a function of the seed, the update and the batch.

Nothing of it has to be stored, and it does not matter which process computes a batch.
"""

import numpy as np
import torch


def seed_draws(device: torch.device, *, seed: int, step: int, batch: int) -> None:
    """Seed torch's generator of the CPU, and of the device, for one batch of one update.

    Only these two: `torch.manual_seed` would seed every GPU there is.
    """
    (value,) = np.random.SeedSequence([seed, step, batch]).generate_state(1, np.uint64)
    torch.default_generator.manual_seed(int(value))
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(int(value))
    elif device.type == "mps":
        torch.mps.manual_seed(int(value))
