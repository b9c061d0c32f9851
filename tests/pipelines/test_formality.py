"""Tags that a call asks for: before every request of a sentence, refused by a model that was not trained with them."""

from collections.abc import Sequence

import pytest
import torch

from limelight.config import DecodingConfig, Direction, TransformerConfig
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.pipelines.job import Text
from limelight.pipelines.translator import Translator
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.tokens.tokenizer import is_control

TEXTS = ["can you help me", "kannst du mir helfen", "können Sie mir helfen", "it costs 1.50 dollars, you know"] * 20
DIRECTIONS = tuple(Direction(*each) for each in (("en", "de"), ("de", "en"), ("en", "fr"), ("de", "es")))


def translator(*reserved: str, directions: Sequence[Direction] = DIRECTIONS) -> Translator:
    tokenizer = train_tokenizer(
        TEXTS, kind="bpe", vocabulary_size=None, languages=["en", "de", "fr", "es"], byte_fallback=True, seed=1,
        sentences=80, reserved=reserved,
    )  # fmt: skip
    both = Tokenizers(tokenizer, tokenizer)
    torch.manual_seed(5)
    model = build_model(TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=12), both)
    short = DecodingConfig(beam_size=2, max_length_factor=1, max_length_extra=2)
    made = Translator(model.eval(), both, short, directions=directions)  # type: ignore[arg-type]
    made.knows_placeholders = True
    return made


KNOWING = translator("<formal>", "<informal>", "<domain:legal>")


def tags(one: Translator, text: str, **asked: object) -> list[list[str]]:
    """The control tokens before each request of a text, which is answered with nonsense."""
    [job] = one.jobs([Text(text)], one.options(**{"source_lang": "en", "target_lang": "de", **asked}))
    found = []
    asks = job.take(9)
    while asks:
        ask = asks.pop()
        while ask is not None:
            pieces = one.tokenizers.source.pieces(ask.request.source)
            found.append([piece for piece in pieces[:4] if is_control(piece) and piece[1:3] != "ph"])
            ask = job.receive(ask, one.decode([ask.request])[0])
        asks = job.take(9)
    return found


@pytest.mark.parametrize("text", ["can you help me", "it costs 1.50 dollars, you know. can you help me"])
def test_every_request_of_a_text_has_the_tags(text: str) -> None:
    found = tags(KNOWING, text, formality="formal", domain="legal")
    assert len(found) > 1 or "." not in text
    assert {tuple(each) for each in found} == {("<2de>", "<domain:legal>", "<formal>")}
    assert {tuple(each) for each in tags(KNOWING, text, formality="prefer_informal")} == {("<2de>", "<informal>")}
    assert {tuple(each) for each in tags(KNOWING, text)} == {("<2de>",)}


@pytest.mark.parametrize(
    ("one", "asked", "says"),
    [
        (translator(), {"formality": "formal"}, "was not trained with augmentation.formality.*prefer_formal"),
        (translator(), {"domain": "legal"}, "this model knows no domains"),
        (KNOWING, {"domain": "medical"}, "this model knows legal"),
        (KNOWING, {"formality": "polite"}, "'polite': one of formal, informal"),
        (KNOWING, {"formality": "formal", "source_lang": "de", "target_lang": "en"}, "English has one form"),
    ],
)
def test_what_the_model_cannot_do_is_refused_by_name(one: Translator, asked: dict, says: str) -> None:
    with pytest.raises(UserError, match=says):
        one.translate("can you help me", **{"source_lang": "en", "target_lang": "de", **asked})


def test_what_is_only_preferred_is_left_out() -> None:
    found = tags(translator(), "can you help me", formality="prefer_formal")
    assert {tuple(each) for each in found} == {("<2de>",)}
    assert [KNOWING.has_formality(each) for each in ("de", "en")] == [True, False]
    assert not translator().has_formality("de")


def test_a_text_that_is_nothing_but_invisible_is_not_searched() -> None:
    assert KNOWING.prepare(["\u200b"], source_lang="en", target_lang="de")[0].request is None
    found = KNOWING.translate("\u200b\u00ad", source_lang="en", target_lang="de", guards=False, lines=True)
    assert (found.text, found.tokens) == ("", ())


@pytest.mark.parametrize("code", ["de@formal", "de-formal", "DE_formal", "de_DE@formal", "de-AT@Formal"])
def test_a_variant_of_a_language_names_the_form(code: str) -> None:
    """As Weblate names them."""
    text = "can you help me"
    assert {tuple(each) for each in tags(KNOWING, text, target_lang=code)} == {("<2de>", "<formal>")}
    assert {tuple(each) for each in tags(translator(), text, target_lang=code)} == {("<2de>",)}
    other = tags(KNOWING, text, target_lang=code, formality="informal")
    assert {tuple(each) for each in other} == {("<2de>", "<informal>")}
    english = tags(KNOWING, "kannst du mir helfen", source_lang="de", target_lang=code.lower().replace("de", "en"))
    assert {tuple(each) for each in english} == {("<2en>",)}
