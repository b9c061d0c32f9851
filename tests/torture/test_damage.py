"""A damaged checkpoint is never loaded: it is named in one warning, and the one before it is taken.

How a run goes on from there is in `tests/training/test_resume.py`, each kind of damage in `test_checkpoint.py`.
"""

import random
from pathlib import Path

from limelight.training.checkpoints.checkpoint import MANIFEST, PARTS, find_damage
from tests.torture.conftest import Measured
from tests.training.test_checkpoint import DAMAGES, Trained, same

FILES = (*PARTS, MANIFEST)


def test_files_cut_off_and_bits_flipped_anywhere(full: bool, measured: Measured, seed: int, tmp_path: Path) -> None:
    """Each file as often as any other, for the large ones are not the important ones."""
    random.seed(seed)
    good, number, held = Trained(), 300 if full else 30, 0
    older = good.save(tmp_path, step=5)
    expected = good.tensors()
    good.step()
    newest = good.save(tmp_path, step=7)
    whole = {name: (newest / name).read_bytes() for name in FILES}
    for turn in range(number):
        name = FILES[turn % len(FILES)]
        DAMAGES[random.choice(["cut off", "flipped"])](newest / name)
        fresh = Trained(steps=0)
        progress, warnings = fresh.restore(tmp_path)
        taken = progress is not None and f"step-{progress.step:08d}" == older.name and same(fresh.tensors(), expected)
        held += taken and len(warnings) == 1 and str(newest) in warnings[0] and name in warnings[0]
        (newest / name).write_bytes(whole[name])
    what = "checkpoints cut off or with one bit flipped anywhere: named in one warning, the one before loaded"
    measured("T5", what, held=held, of=number)
    bits = range(0, 8 * len(whole[MANIFEST]), 1 if full else 101)
    found = 0
    for bit in bits:  # a manifest has no sum of its own
        content = bytearray(whole[MANIFEST])
        content[bit // 8] ^= 1 << bit % 8
        (newest / MANIFEST).write_bytes(content)
        found += find_damage(newest) != ""
    measured("T5", "manifests with one bit flipped, each bit in turn: detected", held=found, of=len(bits))
