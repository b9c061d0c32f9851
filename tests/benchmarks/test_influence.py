"""The measures of a sentence are those of words, without the tag and the end."""

import numpy as np
import pytest

from benchmarks.influence import THIRDS, Given, in_words, summary
from limelight.config import Direction
from limelight.inspection import attention_map
from limelight.inspection.erasure import Rows
from limelight.inspection.measures import measure
from limelight.pipelines.explain import words_of
from tests.browser.helpers import untrained


def test_a_sentence_is_measured_in_words_and_summarized():
    one = untrained()
    source, target = one.tokenizers.source.encode("abcde"), one.tokenizers.target.encode("fgh")
    size = one.tokenizers.source.word_of(source)[-1] + 1
    rows = Rows(source, target, words_of(one.tokenizers.source, source), size)
    (measured,) = measure(one.model, [rows], max_lengths=[10])
    found = in_words(one, Given(Direction("", ""), "abcde", rows, one.tokenizers), measured)
    assert found.lost.shape == (len(target), 5)
    assert found.weights.shape == found.contributions.shape == (2, 3, *found.lost.shape)
    seen = attention_map(one.model, one.tokenizers, "abcde", target)
    np.testing.assert_allclose(found.weights, seen.cross[:, :, :-1, :-1], atol=1e-6)
    assert found.ends[0] == pytest.approx(seen.cross[..., :-1, -1].mean(), abs=1e-6)
    told = summary([found, found])
    assert len(told["correlations"]) == 1 + 2 * 3
    assert [name for name, _ in told["shares"]] == list(THIRDS)
    assert told["layers"][-1] == ("2", "100.0")
