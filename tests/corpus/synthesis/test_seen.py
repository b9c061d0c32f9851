"""Texts that were seen before, as a set would know them."""

import random

import numpy as np

from limelight.corpus.synthesis.synthesize import Seen


def test_it_knows_what_a_set_knows(seed: int) -> None:
    generator = random.Random(seed)
    seen, known = Seen(), set()
    for _ in range(200):
        texts = [str(generator.randrange(3000)) for _ in range(generator.randrange(60))]
        expected = []
        for text in texts:
            expected.append(text not in known)
            known.add(text)
        assert seen.add(texts) == expected
        assert len(seen) == len(known)


def test_it_holds_eight_bytes_for_each_text_in_few_runs() -> None:
    seen = Seen()
    for first in range(0, 50_000, 100):
        assert all(seen.add([str(number) for number in range(first, first + 100)]))
    assert sum(run.nbytes for run in seen._runs) == 8 * 50_000
    assert len(seen._runs) <= np.log2(500)
    assert not any(seen.add([str(number) for number in range(0, 50_000, 7)]))
