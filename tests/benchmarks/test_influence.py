"""The measures of a sentence are those of words, without the tag and the end."""

import numpy as np
import pytest

from benchmarks.influence import THIRDS, measure, summary
from limelight.inspection import attention_map
from tests.browser.helpers import untrained


def test_a_sentence_is_measured_in_words_and_summarized():
    one = untrained()
    found = measure(one, one.tokenizers, "abcde", "fgh")
    assert found.lost.shape == (len(one.tokenizers.target.encode("fgh")), 5)
    assert found.weights.shape == found.contributions.shape == (2, 3, *found.lost.shape)
    seen = attention_map(one.model, one.tokenizers, "abcde", one.tokenizers.target.encode("fgh"))
    np.testing.assert_allclose(found.weights, seen.cross[:, :, :-1, :-1], atol=1e-6)
    assert found.ends[0] == pytest.approx(seen.cross[..., :-1, -1].mean(), abs=1e-6)
    told = summary([found, found])
    assert len(told["correlations"]) == 1 + 2 * 3
    assert [name for name, _ in told["shares"]] == list(THIRDS)
    assert told["layers"][-1] == ("2", "100.0")
