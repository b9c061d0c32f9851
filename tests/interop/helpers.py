"""Small models with real tokenizers, as folders, for the tests of every format."""

from pathlib import Path

import torch
from torch import nn

from limelight.batching.batch import Batch
from limelight.config import ModelConfig, RunConfig, TransformerConfig
from limelight.models.families import build_model
from limelight.storage.model import StoredModel, load_model, save_model
from limelight.tokens import Tokenizers, train_tokenizer
from tests.models.helpers import batch_of

ENGLISH = [
    "The small dog runs over the green grass.",
    "Two birds sing in the old tree, and nobody listens.",
    "Where is the station? It isn't far: 300 metres.",
    "She reads a book about stars; he sleeps.",
    "In winter the lake is frozen and children skate on it.",
]
GERMAN = [
    "Der kleine Hund läuft über das grüne Gras.",
    "Zwei Vögel singen im alten Baum, und niemand hört zu.",
    "Wo ist der Bahnhof? Er ist nicht weit: 300 Meter.",
    "Sie liest ein Buch über Sterne; er schläft.",
    "Im Winter ist der See gefroren, und Kinder laufen Schlittschuh.",
]
MANY = [
    *("Žluťoučký kůň pěl ďábelské ódy.", "Việt Nam có nhiều món ăn ngon.", "Ένα μικρό σκυλί τρέχει."),
    *("Маленькая собака бежит по траве.", "小さな犬が草の上を走る。", "작은 개가 풀밭을 달린다."),
    *("كلب صغير يركض على العشب.", "कुत्ता घास पर दौड़ता है।", "สุนัขวิ่งบนหญ้า", "ﬁne ﬂour ½ ① Ⅳ ™"),
]
"""Scripts and characters that the tokenizers below have hardly seen."""

SIZES = {"encoder_layers": 2, "decoder_layers": 3, "d_model": 12, "heads": 3, "d_ff": 17}


def make_tokenizers(*, joint: bool, kind: str = "bpe", byte_fallback: bool = True) -> Tokenizers:
    """Vocabularies of English and German, of different sizes where they are apart."""

    def learn(texts: list[str], size: int) -> object:
        return train_tokenizer(
            texts, kind=kind, vocabulary_size=size, languages=["de", "en"], byte_fallback=byte_fallback, seed=1,
            sentences=len(texts),
        )  # fmt: skip

    extra = 256 if byte_fallback else 0
    if joint:
        both = learn(ENGLISH + GERMAN, 130 + extra)
        return Tokenizers(both, both)
    return Tokenizers(learn(ENGLISH, 95 + extra), learn(GERMAN, 102 + extra))


def make_stored(folder: Path, config: ModelConfig, tokenizers: Tokenizers) -> StoredModel:
    """A random model whose outputs are far from uniform, read back from its folder."""
    model = build_model(config, tokenizers)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.mul_(1.7)
            else:
                nn.init.normal_(parameter, mean=float(".norm.weight" in name), std=0.3)
    save_model(folder, model, tokenizers, RunConfig(model=config), notes={}, card="# Whose it is\n")
    return load_model(folder)


def transformer(**changes: object) -> TransformerConfig:
    return TransformerConfig(**{**SIZES, **changes})


def text_batch(stored: StoredModel) -> Batch:
    """The sentences of both languages, as pairs."""
    source, target = stored.tokenizers
    return batch_of(stored.model, list(map(source.encode, ENGLISH)), list(map(target.encode, GERMAN)))
