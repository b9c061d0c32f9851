"""A larger vocabulary for a run that begins with another model: tags of new languages, and characters and merges that
are frequent in its text.

The run keeps the parent with this vocabulary as a model of its own, `RUN/start`: that is what it begins with, and what
it is compared and mixed with at its end.
"""

from collections.abc import Iterator
from pathlib import Path

from limelight.config import RunConfig, directions_of, has_tags
from limelight.errors import UserError
from limelight.files import remove, whole_folder
from limelight.preparation.kept import Say
from limelight.preparation.pairs import cleaned, further_pieces
from limelight.preparation.read import new_corpora
from limelight.storage.layout import NEW_TAGS, START, WEIGHTS, find_model
from limelight.storage.model import extend_model, load_model, read_card, save_model
from limelight.storage.weights import read_weights
from limelight.tokens import Tokenizers, language_tag
from limelight.tokens.extend import extend_tokenizers
from limelight.tokens.tokenizer import normalize
from limelight.tokens.vocabulary import required_characters, suggest_vocabulary_size


def tags_of(config: RunConfig) -> tuple[str, ...]:
    """The tags that the source vocabulary of a run needs, except the placeholders."""
    targets = [direction.target for direction in directions_of(config.data)] if has_tags(config.data) else []
    return (*dict.fromkeys(map(language_tag, targets)), *further_pieces(config))


def require_extendable(config: RunConfig, tokenizers: Tokenizers) -> None:
    """Raise `UserError` unless tokens can be added to the vocabulary of the model that a run begins with."""
    if not config.begin_with or config.learns != "pairs":
        raise UserError(
            "--extend-vocabulary is for a translation model that begins with another one: give --from MODEL"
        )
    try:
        extend_tokenizers(tokenizers, merges=1)
    except UserError as error:
        raise UserError(
            f"{config.begin_with}: {error}; leave --extend-vocabulary out, or train a new model without --from"
        ) from None


def has_new_tags(run: Path) -> bool:
    """Whether a run begins with tags that nothing has been trained with yet."""
    return (run / START / WEIGHTS).is_file() and NEW_TAGS in read_weights(run / START / WEIGHTS)[1]


def extend_parent(config: RunConfig, run: Path, say: Say) -> None:
    """Write `RUN/start` for a run that has not begun; nothing if its vocabulary is that of the parent.

    Merges are as many as a vocabulary of its own would have for so much text (`suggest_vocabulary_size`), if so many
    are frequent and not single tokens already.
    """
    remove(run / START)  # of a start with other settings
    if not config.extend_vocabulary:
        return
    stored = load_model(find_model(config.begin_with))
    tokenizer = stored.tokenizers.target

    def texts() -> Iterator[str]:
        for pair in cleaned(config.data, new_corpora(config.data)):
            yield normalize(pair.source)
            yield normalize(pair.target)

    wanted = suggest_vocabulary_size(sum(1 for _ in texts()) // 2)
    tags, characters = tags_of(config), required_characters(texts(), wanted)
    extension = extend_tokenizers(stored.tokenizers, tags=tags, characters=characters, texts=texts(), merges=wanted)
    larger = extension.tokenizers.target
    added = larger.pieces(range(tokenizer.padding, larger.padding))
    new_tags = [piece for piece in added if piece in tags]
    say(" ".join([f"the vocabulary is that of {config.begin_with} with {len(added):,} more tokens", *new_tags]))
    model = extend_model(stored, extension)
    own = stored.config.model_copy(update={"data": config.data, "weights": "fp32"})
    notes = stored.notes | ({NEW_TAGS: " ".join(new_tags)} if new_tags else {})
    with whole_folder(run / START) as partial:
        save_model(partial, model, extension.tokenizers, own, notes=notes, card=read_card(stored.folder))
