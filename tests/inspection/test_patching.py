"""Patching against a plain loop over layers and positions in float64, and its laws."""

import numpy as np
import pytest
import torch

from limelight.attention.attend import permit_keys
from limelight.errors import UserError
from limelight.inspection.patching import Sides, patch
from limelight.models.transformer.layers import Reading
from tests.models.helpers import exact_model, make_model, random_rows, recurrent, transformer


@pytest.fixture(autouse=True)
def small_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """An untrained model hardly prefers a token."""
    monkeypatch.setattr("limelight.inspection.patching.MIN_DIFFERENCE", 1e-6)


def sides(length=5, prefix=3) -> Sides:
    (source,) = random_rows([length], 28)
    other = [*source[:2], source[2] % 26 + 1, *source[3:]]
    (target,) = random_rows([prefix], 28)
    return Sides(source, other, target, 7, 11)


def entered(stack, ids, **mask):
    """The input of the first layer, and what all layers read."""
    embedded, rotary = stack.embedding(ids), stack.rotary
    rotate = None if rotary is None else lambda heads: rotary(heads, torch.arange(ids.shape[1]))
    return embedded if stack.positions is None else stack.positions(embedded), Reading(rotate, **mask)


def run(model, source, prefix, change=lambda where, depth, hidden: hidden) -> dict:
    """One source alone, layer by layer; `change` may replace the output of each."""
    ids = torch.tensor([[*source, model.end_id]])
    valid = torch.ones_like(ids, dtype=torch.bool)
    seen = {"encoder": [], "decoder": []}

    def note(where, hidden):
        changed = change(where, len(seen[where]), hidden.clone())
        seen[where].append(changed)
        return changed

    with torch.no_grad():
        hidden, reading = entered(model.encoder, ids, may_attend=permit_keys(valid))
        hidden = note("encoder", hidden)
        for layer in model.encoder.layers:
            hidden = note("encoder", layer(hidden, reading))
        sources = model.decoder.project_memory(model.encoder.leave(hidden), permit_keys(valid))
        hidden, reading = entered(model.decoder, torch.tensor([[model.start_id, *prefix]]), causal=True)
        hidden = note("decoder", hidden)
        for layer, source_view in zip(model.decoder.layers, sources, strict=True):
            hidden = note("decoder", layer(hidden, reading, source_view))
        logits = model.project(model.decoder.leave(hidden))[0, -1].log_softmax(0)
    return {**seen, "D": float(logits[7] - logits[11])}


@pytest.mark.parametrize(
    "changed",
    [{}, {"norm": "pre", "positions": "rotary", "encoder_layers": 3}, {"decoder_autoreg": "ssru"}],
    ids=str,
)
def test_effects_are_those_of_a_loop(seed, changed):
    model = exact_model(transformer(**changed))
    given = sides()
    found = patch(model, given)
    first, second = run(model, given.source, given.prefix), run(model, given.other, given.prefix)
    assert (found.first, found.second) == pytest.approx((first["D"], second["D"]))
    for where, effects in (("encoder", found.encoder), ("decoder", found.decoder)):
        assert effects.shape == (len(first[where]), first[where][0].shape[1])
        for layer, place in np.ndindex(*effects.shape):

            def change(here, depth, hidden, where=where, layer=layer, place=place):
                if (here, depth) == (where, layer):
                    hidden[0, place] = first[where][layer][0, place]
                return hidden

            patched = run(model, given.other, given.prefix, change)["D"]
            expected = (patched - second["D"]) / (first["D"] - second["D"])
            assert effects[layer, place] == pytest.approx(expected, abs=1e-6), (where, layer, place)


def test_what_has_to_return_returns(seed):
    """The one embedding that differs brings all back, the others nothing; so does the last vector of the decoder."""
    found = patch(exact_model(transformer()), sides())
    np.testing.assert_allclose(found.encoder[0], [0, 0, 1, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(found.decoder[0], 0, atol=1e-9)
    np.testing.assert_allclose(found.decoder[-1], [0, 0, 0, 1], atol=1e-9)


def test_what_cannot_be_compared_is_refused(seed):
    model, given = make_model(transformer()), sides()
    with pytest.raises(UserError, match="5 and 4 tokens: patching compares position by position"):
        patch(model, given._replace(other=given.other[:4]))
    with pytest.raises(UserError, match="does not depend on the sources"):
        patch(model, given._replace(other=given.source))
    with pytest.raises(UserError, match="Transformers with encoder and decoder"):
        patch(make_model(recurrent()), given)
