"""Every kind of search once, with small random models, so that numba compiles all loops and keeps them on disk.

Loops are compiled for the types of their arguments, not for sizes: no other model, and no text, needs others
(`tests/decoding/test_every_loop.py`).
"""

import numpy as np
import torch

from limelight.config import TransformerConfig
from limelight.decoding.engine import Engine
from limelight.decoding.request import Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.decoding.shortlist import ShortOutput
from limelight.inference.prepare import prepare
from limelight.models.transformer.build import build_transformer
from limelight.storage.tables import Shortlist

VOCABULARY = 40
LONG = 144
"""More tokens than the loops for short sentences take."""


def run_every_loop() -> None:
    """Decode in each precision that has loops, with and without rotary positions, with each activation, and with a
    recurrent decoder."""
    with torch.random.fork_rng(devices=[]):
        for precision, positions, activation, decoder in (
            ("int8", "sinusoidal", "relu", "self-attention"), ("int8", "rotary", "swish", "self-attention"),
            ("fp32", "sinusoidal", "relu", "self-attention"), ("fp32", "rotary", "relu", "self-attention"),
            ("int8", "rotary", "relu", "ssru"), ("fp32", "rotary", "relu", "ssru"),
        ):  # fmt: skip
            _decode(precision, positions=positions, activation=activation, decoder_autoreg=decoder)


def _decode(precision: str, **settings: str) -> None:
    config = TransformerConfig.model_validate(
        {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1, "norm": "pre", **settings}
    )
    model = build_transformer(config, VOCABULARY, VOCABULARY).eval()
    everything = np.arange(VOCABULARY - 1)
    short = ShortOutput(
        model, Shortlist(np.zeros((VOCABULARY - 1, 1), np.int32), everything.astype(np.int32)), precision
    )
    engine = Engine(prepare(model, precision), short=short)
    for request in _requests(everything):
        engine.submit(request)
        while engine.busy:
            for outcome in engine.step():
                if outcome.error is not None:
                    raise outcome.error


def _requests(everything: np.ndarray) -> list[Request]:
    """Greedy search and beams, in one call and in steps, with rules, lists and samples; short and long sources."""
    greedy, beam = SearchSettings(beam_size=1), SearchSettings(beam_size=3)
    several = SearchSettings(beam_size=3, n_best=2)
    ruled = SearchSettings(beam_size=2, rules=(("no_repeat_ngram", 2),))
    drawn = SearchSettings(beam_size=1, sampling=Sampling(seed=1, top_k=5))
    short, long = [3, 4, 5, 0], [*[3] * LONG, 0]
    return [
        Request(short, 6, greedy),
        Request(short, 6, beam),
        Request(short, 6, greedy, (3,)),
        Request(short, 6, several),
        Request(short, 6, several, (3,)),
        Request(short, 6, ruled),
        Request(short, 6, drawn),
        Request(short, 6, several, shortlist=everything),
        Request(short, 6, greedy, (3,), shortlist=everything),
        Request(long, 6, greedy),
        Request(long, LONG, several),
    ]
