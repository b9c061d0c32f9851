"""Terms that translations have to contain."""

import functools
import re

import pytest

from limelight.config import DecodingConfig, TransformerConfig
from limelight.models.families import build_model
from limelight.pipelines.translator import Translator
from limelight.text.glossary import Glossary, Term
from limelight.tokens import Tokenizer, Tokenizers, train_tokenizer

TEXTS = ["the lamp hums here now", "press the lamp and it hums", "a name is here", "the dog runs now", "it is a lamp"]


@functools.cache
def tokenizer(kind: str = "bpe") -> Tokenizer:
    return train_tokenizer(
        TEXTS * 9, kind=kind, vocabulary_size=None, languages=(), byte_fallback=True, seed=1, sentences=45
    )


def translator(kind: str = "bpe") -> Translator:
    """A random model; what it says has no sense."""
    both = Tokenizers(tokenizer(kind), tokenizer(kind))
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=8)
    settings = DecodingConfig(beam_size=2, max_length_factor=1.0, max_length_extra=5)
    return Translator(build_model(config, both), both, settings)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
def test_a_term_comes_however_improbable_it_is(seed: int, kind: str) -> None:
    terms = Glossary([Term("lamp", "dog")], "en")
    found = translator(kind).translate(TEXTS[:2], glossary=terms, guards=False, lines=True)
    assert [re.findall(r"\bdog\b", each.text)[:1] for each in found] == [["dog"]] * 2
    assert not any(each.unused for each in found)
