"""COMET (Rei et al. 2022) as a metric: `limelight --plugin examples/comet_metric.py evaluate --metric comet ...`.

It needs the package `unbabel-comet`, a checkpoint and its encoder on this machine. A checkpoint is a pickle, which can
run code: use one that you trust.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import limelight


@limelight.register_metric("comet")
def comet(outputs: Sequence[str], references: Sequence[str]) -> float:
    """The system score times 100; the environment names the file of sources and the checkpoint."""
    from comet import load_from_checkpoint

    sources = Path(os.environ["COMET_SOURCES"]).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    model = load_from_checkpoint(os.environ["COMET_CHECKPOINT"], local_files_only=True)
    texts = zip(sources, outputs, references, strict=True)
    rows = [{"src": source, "mt": output, "ref": reference} for source, output, reference in texts]
    return 100 * float(model.predict(rows, batch_size=16, gpus=0).system_score)
