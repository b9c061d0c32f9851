"""A text of several sentences becomes one text again, through a real search."""

import pytest

from limelight.config import DecodingConfig
from limelight.decoding.sampling import Sampling
from limelight.pipelines.translation import Translation, joined
from limelight.pipelines.translator import Translator
from limelight.tokens import Tokenizers
from tests.decoding.fakes import Characters, random_model


class Letters(Characters):
    """What is no letter says nothing; what is said begins with a capital."""

    def encode(self, text: str) -> list[int]:
        return [piece for piece in super().encode(text.lower()) if piece > 1]


def translator() -> Translator:
    model = random_model(12, 11)
    model.logits[..., 0] += 1
    model.logits[..., 1] -= 50
    return Translator(model, Tokenizers(Letters(), Letters()), DecodingConfig())


TEXT = "  Cab bed.  Face age!\n\n\tBad egg. Hi?\r\n1. Dab.\n"


def test_sentences_are_translated_alone_and_the_rest_stays(seed: int) -> None:
    one = translator()
    said = {
        text: one.translate(text, guards=False).text for text in ("Cab bed.", "Face age!", "Bad egg.", "Hi?", "Dab.")
    }
    found = one.translate(TEXT, guards=False)
    expected = TEXT
    for text, translation in said.items():
        expected = expected.replace(text, translation)
    assert found.text == expected
    assert found.source == TEXT
    several = one.translate(list(said), guards=False)
    assert found.tokens == tuple(token for each in several for token in each.tokens)
    assert found.log_probability == pytest.approx(sum(each.log_probability for each in several))
    weights = [len(each.tokens) + 1 for each in several]
    mean = sum(each.score * weight for each, weight in zip(several, weights, strict=True)) / sum(weights)
    assert found.score == pytest.approx(mean)
    assert found.finished == all(each.finished for each in several)


def test_a_text_went_through_another_language_if_one_of_its_sentences_did() -> None:
    path = ("de", "en", "fr")
    parts = [[Translation("a")], [Translation("b", path=path)], [Translation("c")]]
    assert joined("x x x", parts, lambda texts: (" ".join(texts), [])).path == path


def test_lines_and_forced_beginnings_keep_a_text_whole(seed: int) -> None:
    one = translator()
    one.model.logits[..., 0] -= 50  # every sentence gets as long as it may
    whole = one.translate("Cab bed. Face age!", lines=True, guards=False)
    assert whole.tokens == one.translate("cab bed face age", guards=False).tokens
    assert whole.tokens != one.translate("Cab bed. Face age!", guards=False).tokens
    forced = one.translate("Cab bed. Face age!", prefix="gab", guards=False)
    assert forced.tokens == one.translate("cab bed face age", prefix="gab", guards=False).tokens
    assert list(one.translate_stream(["Cab bed. Face age!"], lines=True, guards=False)) == [whole]


def test_alternatives_of_several_sentences_are_in_the_order_of_their_scores() -> None:
    """Each sentence has the same weight in all of them, whatever the lengths of its alternatives."""

    def sentence(*found: tuple[float, int]) -> list[Translation]:
        return [Translation("x", score, ("x",) * tokens, score, "x", True) for score, tokens in found]

    parts = sentence((-1.0, 1), (-1.1, 9)), sentence((-3.0, 9), (-3.1, 1), (-3.2, 1))
    best = joined("x x", parts, lambda texts: (" ".join(texts), []))
    scores = [each.score for each in (best, *best.alternatives)]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx([(-1.0 * 2 - 3.0 * 10) / 12, (-1.1 * 2 - 3.1 * 10) / 12, (-1.1 * 2 - 3.2 * 10) / 12])


def test_sentences_of_a_text_are_drawn_apart_and_the_first_as_if_alone(seed: int) -> None:
    one = translator()
    one.model.logits[..., 0] -= 50
    sampling = Sampling(seed=seed)
    same = one.translate(". ".join(["Face"] * 9) + ".", sampling=sampling, guards=False)
    drawn = same.text.split(" ")
    assert len(drawn) == 9
    assert len(set(drawn)) > 1
    assert drawn[0] == one.translate("Face.", sampling=sampling, guards=False).text
