"""Small random encoders over a vocabulary of whole words."""

import functools

from limelight.config import EncoderOnlyConfig
from limelight.models.families import build_model
from limelight.models.transformer import halves
from limelight.pipelines.encoders import Classifier
from limelight.tokens import Tokenizer, Tokenizers, train_tokenizer
from limelight.tokens.text import RESERVED

TEXTS = ["a cat sees the dog", "the dog sees a cat in the house", "dogs run", "the cat runs", "a house"]
LABELS = ("ant", "bee", "cat")


@functools.cache
def tokenizer(kind: str = "bpe") -> Tokenizer:
    lines = TEXTS * 5
    return train_tokenizer(
        lines if kind != "characters" else ["\n".join(lines)],
        kind=kind,
        vocabulary_size=None,
        languages=(),
        byte_fallback=False,
        seed=1,
        sentences=len(lines),
        reserved=RESERVED,
    )


def config(**changed: object) -> EncoderOnlyConfig:
    return EncoderOnlyConfig(**{"layers": 2, "d_model": 12, "heads": 3, "d_ff": 17, "norm": "pre", **changed})


def masked_model(kind: str = "bpe", **changed: object) -> halves.MaskedModel:
    both = tokenizer(kind)
    model = build_model(config(**changed), Tokenizers(both, both))
    assert isinstance(model, halves.MaskedModel)
    return model


def classifier(**changed: object) -> Classifier:
    both = tokenizer()
    model = build_model(config(**changed), Tokenizers(both, both), LABELS)
    assert isinstance(model, halves.Classifier)
    return Classifier(model, both)
