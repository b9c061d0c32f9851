"""A translator without a model: it says the words backwards, and what it was asked is written down."""

import random
from pathlib import Path
from typing import Any

import torch
from torch import nn

from limelight.config import DecodingConfig
from limelight.pipelines.translator import Translation, Translator
from limelight.tokens import Tokenizers, train_tokenizer

LETTERS = Tokenizers(
    *[train_tokenizer(["abcdefgh "], kind="characters", vocabulary_size=None, languages=[], byte_fallback=False,
                      seed=1, sentences=1)] * 2
)  # fmt: skip


class Parrot(Translator):
    """`log` gets every text that is translated, a line each, from whatever process."""

    def __init__(self, log: Path | None = None) -> None:
        self.log = log
        self.config = DecodingConfig()
        self.searched = nn.Module()  # type: ignore[assignment]
        self.tokenizers = LETTERS
        self.directions = ()
        self.has_language_tokens = False

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def translate(self, texts: Any, **options: Any) -> Any:
        """`x a b` becomes `b a`; texts that begin with a name of a reason become an example of it."""
        if self.log is not None:
            with open(self.log, "ab", buffering=0) as file:
                file.write("".join(f"{text}\n" for text in texts).encode())
        sampling = options.get("sampling")
        draw = random.Random(sampling.seed) if sampling else None
        return [self._translation(text, draw) for text in texts]

    def _translation(self, text: str, draw: random.Random | None) -> Translation:
        words = text.split()[::-1]
        if draw is not None:
            draw.shuffle(words)
        said = {
            "empty": "",
            "loop": "la " * 9,
            "long": "one word and " + "another word " * 2 + "and many more words than that",
            "copy": text,
        }
        out = said.get(text.split()[0], " ".join(words))
        finished = not text.startswith("unfinished")
        return Translation(out, 0.0, tuple(out.split()), 0.0, text, finished=finished)
