"""The measures of several pairs against those of each pair alone, and how much is computed for them."""

import numpy as np
import pytest
import torch

from limelight.errors import UserError
from limelight.inspection import contributions, decoder_lens, encoder_lens, erasures, token_contributions
from limelight.inspection import measures as module
from limelight.inspection.erasure import Rows
from limelight.inspection.measures import measure
from tests.models.helpers import batch_of, exact_model, make_model, random_rows, recurrent, transformer

SIZES = ((5, 4), (9, 11), (3, 7), (6, 1), (2, 2))
LIMITS = (7, 3, 9, 5, 0)


def pairs() -> list[Rows]:
    """Sentences of different lengths, some of whose words have several tokens, and one without."""
    found = []
    for source, target in (random_rows(sizes, 28) for sizes in SIZES):
        words = [[place // 2] for place in range(len(source))]
        found.append(Rows(source, target, words, words[-1][0] + 2))
    return found


def calls(layer: torch.nn.Module) -> list[tuple[int, ...]]:
    """The shapes of the inputs of all later calls."""
    seen: list[tuple[int, ...]] = []
    layer.register_forward_hook(lambda _, inputs, __: seen.append(tuple(inputs[0].shape)))
    return seen


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize("batch_tokens", [module.BATCH_TOKENS, 20])
def test_pairs_are_measured_as_each_of_them_alone(seed, monkeypatch, norm, positions, batch_tokens):
    monkeypatch.setattr(module, "BATCH_TOKENS", batch_tokens)
    model, given = exact_model(transformer(norm=norm, positions=positions, encoder_layers=3, head_size=4)), pairs()
    keep = {"encoder.1.self": torch.tensor([1.0, 0.0, 1.0]), "decoder.0.cross": torch.tensor([[1.0, 1, 0], [1, 2, 1]])}
    for heads in (None, keep):
        found = measure(model, given, max_lengths=LIMITS, keep_heads=heads)
        for rows, limit, each in zip(given, LIMITS, found, strict=True):
            both = (rows.source, rows.target)
            _, weights = model.forward_with_attention(batch_of(model, [rows.source], [rows.target]), keep_heads=heads)
            np.testing.assert_allclose(each.cross, [layer[0].detach().numpy() for layer in weights.cross], atol=1e-6)
            for kind, expected in contributions(model, *both, keep_heads=heads).items():
                for got, values in zip(each.contributions[kind], expected, strict=True):
                    np.testing.assert_allclose(got, values, atol=1e-6)
            expected = token_contributions(model, *both, keep_heads=heads)
            for got, values in zip(each.token_contributions, expected, strict=True):
                np.testing.assert_allclose(got, values, atol=1e-6)
            np.testing.assert_allclose(each.erasures, erasures(model, rows, keep_heads=heads), atol=1e-6)
            alone = encoder_lens(model, rows.source, max_length=limit, keep_heads=heads)
            for got, translation in zip(each.encoder_lens, alone, strict=True):
                assert (got.ids, got.finished) == (translation.ids, translation.finished)
                assert got.log_probability == pytest.approx(translation.log_probability, abs=1e-5)
            for got, predicted in zip(each.decoder_lens, decoder_lens(model, *both, keep_heads=heads), strict=True):
                assert [one.best for one in got] == [one.best for one in predicted]
                np.testing.assert_allclose([one[1:] for one in got], [one[1:] for one in predicted], atol=1e-6)


def test_pairs_share_their_passes(seed):
    """One pass and the erasures through the encoder, whatever is measured; nothing is encoded again for the lenses."""
    model, given = exact_model(transformer()), pairs()
    through = calls(model.encoder.layers[0].feed_forward)
    measure(model, given, max_lengths=LIMITS)
    assert through[0][0] == len(given)
    rows = sum(pair.size for pair in given)  # one word has no tokens; the source itself is a row
    assert [shape[0] for shape in through[1:]] == [rows], "all shortened sources are one batch"


def test_a_translation_that_has_ended_is_not_continued(seed):
    """Steps get shorter as rows end, and the last ones are those that reach their maximum length."""
    model, given = exact_model(transformer()), pairs()
    steps = calls(model.decoder.layers[0].feed_forward)
    found = measure(model, given, max_lengths=LIMITS)
    rows = [shape[0] for shape in steps if shape[1] == 1]
    lengths = [len(one.ids) + 1 for each in found for one in each.encoder_lens]
    assert rows == [sum(length > step for length in lengths) for step in range(max(lengths))]


def test_other_models_are_refused():
    with pytest.raises(UserError, match="contributions and layers are those of Transformers"):
        measure(make_model(recurrent()), [Rows([3, 4], [3], [[0], [1]], 2)], max_lengths=[3])
