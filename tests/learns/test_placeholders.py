"""A model that has learned from placeholders and terms carries over every placeholder of text it has never seen, to its
place, and writes the target form it is given."""

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from limelight.config import (
    AugmentationConfig,
    BatchingConfig,
    Corpus,
    DataConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
    TransformerConfig,
)
from limelight.pipelines.load import load_translator
from limelight.pipelines.translator import Translator
from limelight.text.marking import PLACEHOLDER, annotated, placeholder
from limelight.tokens import Tokenizer, Tokenizers
from limelight.tokens.marked import decode_marked, encode_marked
from limelight.training.run import train

ADJECTIVES = {"red": "rubo", "old": "alto", "big": "granda", "new": "nova", "sad": "trista"}
NOUNS = {"cat": "kato", "dog": "hundo", "house": "domo", "tree": "arbo", "boy": "knabo", "girl": "knabino"}
VERBS = {"sees": "vidas", "likes": "amas", "finds": "trovas", "takes": "prenas"}
OTHER_FORMS = {"kato": "felo", "hundo": "bojulo", "domo": "budo", "arbo": "ligno"}
"""Each noun has two translations: which one is meant, only a term says."""

Words = list[tuple[str, str]]


def sentence(draw: random.Random) -> Words:
    """the ADJECTIVE NOUN VERB the ADJECTIVE NOUN, each word with its translation."""

    def phrase() -> Words:
        noun = draw.choice(list(NOUNS))
        forms = [NOUNS[noun], OTHER_FORMS.get(NOUNS[noun], NOUNS[noun])]
        adjectives = [(word, ADJECTIVES[word]) for word in draw.sample(list(ADJECTIVES), draw.randint(0, 1))]
        return [("the", "la"), *adjectives, (noun, draw.choice(forms))]

    verb = draw.choice(list(VERBS))
    return [*phrase(), (verb, VERBS[verb]), *phrase()]


def texts(sources: Sequence[str], targets: Sequence[str]) -> tuple[str, str]:
    return " ".join(sources) + ".", " ".join(targets) + "."


def write(path: Path, count: int, seed: int) -> str:
    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        words = sentence(draw)
        rows.append("\t".join(texts(*zip(*words, strict=True))) + "\n")
    path.write_text("".join(rows), encoding="utf-8")
    return str(path)


def with_spans(words: Words, draw: random.Random) -> tuple[str, str]:
    """One to four placeholders or pairs of them in a sentence: in place of a word, around one, or behind one."""
    sources, targets = [word for word, _ in words], [word for _, word in words]
    number = 0
    for place in sorted(draw.sample(range(1, len(words)), draw.randint(1, min(4, len(words) - 1)))):
        kind = draw.randrange(3)
        if kind == 0:
            sources[place] = targets[place] = placeholder(number)
        elif kind == 1:
            sources[place] = placeholder(number) + sources[place] + placeholder(number + 1)
            targets[place] = placeholder(number) + targets[place] + placeholder(number + 1)
        else:
            sources[place] += placeholder(number)
            targets[place] += placeholder(number)
        number += 1 + (kind == 1)
    return texts(sources, targets)


class Marked:
    """A tokenizer whose texts are marked ones."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer

    def __getattr__(self, name: str) -> object:
        return getattr(self._tokenizer, name)

    def encode(self, text: str) -> list[int]:
        return encode_marked(self._tokenizer, text)

    def decode(self, ids: Sequence[int]) -> str:
        return decode_marked(self._tokenizer, ids)


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = tmp_path_factory.mktemp("placeholders")

    def corpus(name: str, count: int, seed: int) -> tuple[Corpus, ...]:
        return (Corpus(files=(write(folder / f"{name}.tsv", count, seed),), source="en", target="eo"),)

    config = RunConfig(
        data=DataConfig(train=corpus("train", 4000, 1), valid=corpus("valid", 40, 2)),
        tokens=TokensConfig(vocabulary_size=140, byte_fallback=False),
        batching=BatchingConfig(tokens=800),
        augmentation=AugmentationConfig(placeholders=0.65, terms=0.5),
        model=TransformerConfig(
            encoder_layers=2, decoder_layers=2, d_model=64, heads=4, d_ff=128, dropout=0.0, norm="pre"
        ),
        training=TrainingConfig(
            seed=7, max_steps=700, schedule="cosine", optimizer="muon", learning_rate=6e-3, warmup=20,
            bleu_sentences=20, average=1, device="cpu", precision="fp32", validate_every=10_000
        ),
    )  # fmt: skip
    train(config, folder / "run", quiet=True)
    translator = load_translator(folder / "run")
    source, target = translator.tokenizers
    return Translator(translator.model, Tokenizers(Marked(source), Marked(target)), translator.config)


def test_placeholders_survive_where_they_belong(translator: Translator) -> None:
    draw = random.Random(11)
    pairs = [with_spans(sentence(draw), draw) for _ in range(400)]
    outputs = translator.translate([source for source, _ in pairs], beam_size=1, guards=False)
    spans = kept = placed = 0
    for (source, target), output in zip(pairs, outputs, strict=True):
        marks = PLACEHOLDER.findall(source)
        spans += len(marks)
        kept += sum(output.text.count(mark) == 1 for mark in marks)
        placed += PLACEHOLDER.sub("#", _bare(output.text)) == PLACEHOLDER.sub("#", _bare(target))
    print(f"{kept} of {spans} placeholders, {placed} of {len(pairs)} sentences right")
    assert kept >= 0.99 * spans
    assert placed >= 0.7 * len(pairs)


def _bare(text: str) -> str:
    """With the first translation of each noun in place of the second."""
    for form, other in OTHER_FORMS.items():
        text = text.replace(other, form)
    return text


def test_the_form_of_a_term_is_used(translator: Translator) -> None:
    draw = random.Random(13)
    used = count = 0
    sources, forms = [], []
    while len(sources) < 300:
        words = sentence(draw)
        last, form = words[-1]
        if NOUNS[last] in OTHER_FORMS:
            sources.append(" ".join([word for word, _ in words[:-1]] + [annotated(last, form)]) + ".")
            forms.append(form)
    for output, form in zip(translator.translate(sources, beam_size=1, guards=False), forms, strict=True):
        used += re.search(rf"\b{form}\b", output.text) is not None
        count += 1
    print(f"{used} of {count} terms")
    assert used >= 0.97 * count
