"""What an encoder alone looked at."""

import numpy as np
import pytest

from limelight.errors import UserError
from limelight.inspection import AttentionMap
from limelight.pipelines.encoders import Reader
from tests.pipelines.helpers import masked_model, tokenizer


def test_a_map_is_from_each_piece_to_each(seed: int) -> None:
    reader = Reader(masked_model(), tokenizer())
    text = "the cat sees a house"
    pieces = tokenizer().pieces(tokenizer().encode(text))
    found = reader.attention(text)
    assert found.kinds == ("encoder_self",)
    assert found.source_pieces == ("<s>", *pieces, "</s>")
    size = len(pieces) + 2
    assert found.encoder_self.shape == (2, 3, size, size)
    np.testing.assert_allclose(found.encoder_self.sum(axis=-1), 1, atol=1e-5)
    assert AttentionMap.from_json(found.to_json()).source_pieces == found.source_pieces


def test_what_cannot_be_looked_at_is_refused() -> None:
    with pytest.raises(UserError, match="the text is blank: there is nothing to attend to; give a sentence"):
        Reader(masked_model(), tokenizer()).attention(" ")
    short = Reader(masked_model(positions="learned", max_positions=5), tokenizer())
    with pytest.raises(UserError, match="this text has 7 tokens with its end"):
        short.attention("a cat sees a cat")
