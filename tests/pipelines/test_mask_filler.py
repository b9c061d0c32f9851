"""What stands behind a mask: the probabilities of the model, the kind of token that can stand there, and the text."""

import pytest
import torch

from limelight.errors import UserError
from limelight.models.transformer.halves import MaskedModel
from limelight.pipelines.encoders import MaskFiller
from limelight.tokens import END, MASK
from limelight.tokens.tokenizer import SPACE
from tests.pipelines.helpers import masked_model, tokenizer

KINDS = ("bpe", "characters")


def filler(kind: str = "bpe", **changed: object) -> MaskFiller:
    return MaskFiller(masked_model(kind, **changed), tokenizer(kind))


class Preferring(MaskedModel):
    """Gives each token of a list a larger logit than any before it, at every place; remembers what it read."""

    def prefer(self, ids: list[int]) -> None:
        self.read_rows: list[list[int]] = []
        self.wanted = ids

    def read(self, ids, valid, **options):
        self.read_rows.append(ids[0].tolist())
        return super().read(ids, valid, **options)

    def project(self, features):
        logits = torch.zeros(*features.shape[:-1], self.encoder.embedding.padding)
        for height, number in enumerate(self.wanted, start=1):
            logits[..., number] = 3.0 * height
        return logits


def preferring(kind: str, pieces: list[str]) -> MaskFiller:
    """A model that likes these tokens, the last one best."""
    found = filler(kind)
    found.model.__class__ = Preferring
    every = found.tokenizer.pieces(range(found.tokenizer.size))
    found.model.prefer([every.index(piece) for piece in pieces])
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_those_of_the_model(kind: str, seed: int) -> None:
    found = filler(kind)
    texts = {
        "bpe": "a [MASK] sees the [MASK]",
        "characters": "a[MASK]c[MASK]t",
    }
    filled = found.fill(texts[kind], top=4)
    mask = found.tokenizer.reserved_id(MASK)
    around = [part.strip() if kind != "characters" else part for part in texts[kind].split(MASK)[:-1]]
    last = "t" if kind == "characters" else ""
    row = [END, *found.tokenizer.encode(around[0]), mask, *found.tokenizer.encode(around[1]), mask]
    row += [*found.tokenizer.encode(last), END]
    ids = torch.tensor([row])
    with torch.inference_mode():
        features = found.model.eval().read(ids, torch.ones_like(ids, dtype=torch.bool))
        shares = found.model.project(features)[0].softmax(dim=-1)
    pieces = found.tokenizer.pieces(range(found.tokenizer.size))
    for place, guesses in zip([number for number, each in enumerate(row) if each == mask], filled.masks, strict=True):
        assert len(guesses) == 4
        assert [guess.probability for guess in guesses] == sorted((g.probability for g in guesses), reverse=True)
        for guess in guesses:
            named = [number for number, piece in enumerate(pieces[:-1]) if guess.text in (piece, piece.lstrip(SPACE))]
            assert any(guess.probability == pytest.approx(float(shares[place, number]), rel=1e-4) for number in named)


def test_behind_a_space_a_word_begins_and_right_behind_a_letter_it_goes_on() -> None:
    words = [f"{SPACE}cat", f"{SPACE}dog", "s"]
    found = preferring("bpe", [*words, SPACE])
    assert [guess.text for guess in found.fill("the [MASK] runs", top=2).masks[0]] == ["dog", "cat"]
    assert found.fill("the [MASK] runs").text == "the dog runs"
    assert found.fill("[MASK] runs").text == "dog runs"
    assert found.fill("the dog[MASK] run").text == "the dogs run"
    assert found.fill("the [MASK][MASK] run").text == "the dogs run"
    assert found.fill("the [MASK]   [MASK]  run").text == "the dog dog run"


def test_what_cannot_be_filled_is_refused() -> None:
    found = filler()
    with pytest.raises(
        UserError, match=r"there is no \[MASK\] in this text: write it in place of the token to predict"
    ):
        found.fill("a cat")
    with pytest.raises(UserError, match=r"there is no \[MASK\]"):
        found.fill("")
    with pytest.raises(UserError, match="top=0: must be at least 1"):
        found.fill("a [MASK]", top=0)
    short = filler(positions="learned", max_positions=5)
    with pytest.raises(UserError, match="this text has 7 tokens with its end, and this model takes at most 5"):
        short.fill("a cat sees a [MASK]")
