"""Every kind of search once, with a small random model, so that numba compiles all loops and keeps them on disk.

Loops are compiled for the types of their arguments, not for sizes: no other model, and no text, needs others
(`tests/decoding/test_every_loop.py`).
"""

import numpy as np
import torch

from limelight.config import TransformerConfig
from limelight.decoding.engine import Engine
from limelight.decoding.request import Request, SearchSettings
from limelight.decoding.shortlist import ShortOutput
from limelight.inference.prepare import prepare, search_precision
from limelight.models.transformer.build import build_transformer
from limelight.storage.tables import Shortlist

VOCABULARY = 40


def compile_every_loop() -> None:
    """Decode in int8, or in fp32 where a CPU has no int8, with a short list and without: greedy search and beams, in
    one call and in steps."""
    settings = {"d_model": 16, "heads": 2, "d_ff": 16, "encoder_layers": 1, "decoder_layers": 1}
    everything = np.arange(VOCABULARY - 1)
    table = Shortlist(np.zeros((VOCABULARY - 1, 1), np.int32), everything.astype(np.int32))
    with torch.random.fork_rng(devices=[]):
        model = build_transformer(TransformerConfig.model_validate(settings), VOCABULARY, VOCABULARY).eval()
    precision = search_precision("int8", torch.device("cpu"))
    ready, short = prepare(model, precision), ShortOutput(model, table, precision)
    source, beam = [3, 4, 0], SearchSettings(beam_size=3)
    for request in (
        Request(source, 6),
        Request(source, 6, beam),
        Request(source, 6, beam, prefix=(3,)),
        Request(source, 6, beam, shortlist=everything),
    ):
        engine = Engine(ready, short=None if request.shortlist is None else short)
        engine.submit(request)
        while engine.busy:
            for outcome in engine.step():
                if outcome.error is not None:
                    raise outcome.error
