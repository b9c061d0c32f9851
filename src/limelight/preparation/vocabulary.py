"""The vocabulary of a run: learned from its text, or that of the model that it begins with."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from limelight.config import RunConfig
from limelight.files import whole_folder
from limelight.preparation.kept import Say, is_resumed
from limelight.storage.layout import TOKENIZER, find_start
from limelight.tokens import Tokenizer, Tokenizers, load_tokenizers, save_tokenizers, train_tokenizer


def make_tokenizers(config: RunConfig, run: Path, say: Say, learn: Callable[[], Tokenizers]) -> Tokenizers:
    """The tokenizers of a run, which a resumed run has already."""
    if not is_resumed(run):
        if config.begin_with:
            tokenizers = load_tokenizers(find_start(config.begin_with, run) / TOKENIZER)
            if not config.extend_vocabulary:
                say(f"the vocabulary is that of {config.begin_with}")
        else:
            tokenizers = learn()
            sizes = sorted({tokenizer.padding for tokenizer in tokenizers})
            say(f"learned a {config.tokens.kind} vocabulary of {' and '.join(map(str, sizes))}")
        with whole_folder(run / TOKENIZER) as partial:
            save_tokenizers(tokenizers, partial)
    return load_tokenizers(run / TOKENIZER)  # from the files, as all later uses do


def languages_of(config: RunConfig) -> list[str]:
    """The languages of the training text, sorted; none of text that is not translated."""
    corpora = config.data.train if config.learns == "pairs" else ()
    return sorted({language for corpus in corpora for language in corpus.direction})


def learn_tokenizer(config: RunConfig, texts: Iterable[str], count: int, *, reserved: Sequence[str]) -> Tokenizer:
    """Learn a vocabulary, by the settings of a run, from texts with about as many characters as `count` pairs."""
    tokens = config.tokens
    return train_tokenizer(
        texts,
        kind=tokens.kind,
        vocabulary_size=tokens.vocabulary_size,
        byte_fallback=tokens.byte_fallback,
        seed=config.training.seed,
        sentences=count,
        languages=languages_of(config),
        reserved=reserved,
    )
