"""Views of a translation, against the measures that they show."""

import numpy as np
import pytest

from limelight.config import DecodingConfig
from limelight.errors import UserError
from limelight.inspection import contributions, token_contributions
from limelight.pipelines.translator import Translator
from limelight.pipelines.views import view_of
from limelight.tokens import Tokenizers
from tests.inspection.fakes import Letters
from tests.models.helpers import make_model, transformer

TEXT, TARGET = "ab c", "x y"


@pytest.fixture
def translator(seed):
    model = make_model(transformer(), Letters.size, Letters.size).eval()
    return Translator(model, Tokenizers(Letters(), Letters()), DecodingConfig(beam_size=1, max_length_extra=4))


def ids(translator):
    return translator.tokenizers.source.encode(TEXT), translator.tokenizers.target.encode(TARGET)


def test_shares_and_contributions_are_those_of_the_sentence(translator):
    source, prefix = view_of(translator, "shares", TEXT, TARGET).panels
    expected = token_contributions(translator.model, *ids(translator))
    np.testing.assert_allclose(source.values, expected.source)
    np.testing.assert_allclose(prefix.values, expected.prefix)
    assert list(source.columns) == list(translator.attention(TEXT, target=TARGET).source_pieces)
    found = {panel.name: panel.values for panel in view_of(translator, "contributions", TEXT, TARGET).panels}
    for kind, each in contributions(translator.model, *ids(translator)).items():
        np.testing.assert_allclose(found[kind].sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(found[kind], (each.layers / each.layers.sum(-1, keepdims=True)).mean(0), atol=1e-6)


def test_unknown_measures_and_blank_texts_are_refused(translator):
    with pytest.raises(UserError, match="unknown measure 'size'; choose from contributions, shares, erasure, layers"):
        view_of(translator, "size", TEXT)
    with pytest.raises(UserError, match="the text is blank"):
        view_of(translator, "shares", " ")
