"""Before the first update: checks of the settings and files."""

import os
from pathlib import Path

import torch

from limelight.config import RunConfig, TrainingConfig, check_directions, dump_config
from limelight.errors import UserError
from limelight.evaluation.metrics import METRICS, bleu_metric
from limelight.formats.opening import open_text, require_lasting
from limelight.models.families import build_model, choose_device
from limelight.models.interface import longest_sequence
from limelight.models.transformer.halves import MaskedModel
from limelight.preparation.extend import require_extendable, tags_of
from limelight.preparation.kept import is_resumed, keeps
from limelight.preparation.pairs import further_pieces
from limelight.preparation.read import REPLAY, pairs_of, silently
from limelight.preparation.vocabulary import languages_of, learn_tokenizer
from limelight.storage.layout import TOKENIZER, find_model
from limelight.tokens import Tokenizers, load_tokenizers
from limelight.tokens.marked import require_marks
from limelight.tokens.text import RESERVED
from limelight.tokens.tokenizer import reserved_pieces
from limelight.tokens.vocabulary import require_size
from limelight.training.loggers import require_loggers
from limelight.training.optimization.loss import LOSSES
from limelight.training.optimization.optimizer import freeze
from limelight.training.optimization.precision import choose_precision
from limelight.training.optimization.update import require_compilable
from limelight.training.tasks.task import TASKS
from limelight.training.tasks.translation import read_names


def check_run(config: RunConfig, folder: Path) -> None:
    """Raise `UserError` for settings that are invalid for any text, and for files that cannot be read.

    Takes about a tenth of a second. The model is built without memory, on torch's `meta` device, from the vocabulary of
    one short text; of each corpus only the first line is read.
    """
    require_one_kind(config)
    dump_config(config)  # it may be too long
    require_other_files(config)
    if config.learns == "pairs":
        check_directions(config.data)
    _check_files(config, folder)
    _check_training(config.training)
    tokenizers = _tokenizers(config, folder)
    _check_vocabulary(config, tokenizers)
    _check_model(config, tokenizers)


def require_one_kind(config: RunConfig) -> None:
    """Raise `UserError` if the kind of text, or a setting for another kind, does not fit the model, or there is no
    text."""
    data, kinds = config.data, config.model.learns_from
    ways = ["--text FILE..."] * ("text" in kinds) + ["--train FILE (or two files)"] * (kinds != ("text",))
    options = [way for way, files in (("--text", data.text), ("--train", data.train)) if files]
    if len(options) != 1 or not any(way.startswith(options[0]) for way in ways):
        raise UserError(
            f"a model of the family {config.model.family} learns from {' or '.join(ways)}; "
            f"given {'are' if len(options) > 1 else 'is'} {' and '.join(options) or 'nothing'}"
        )
    if (data.text and data.valid) or (data.train and data.valid_text):
        raise UserError("text for validation is of the kind of --train (--valid) or of --text (--valid-text)")
    if config.learns != "pairs":
        if any(corpus.tag or corpus.side_constraint for corpus in data.train):
            raise UserError("--back-translated and --tag are for models that translate: give text with labels alone")
        if (
            any(config.augmentation.rates.values())
            or config.tokens.sampling
            or data.both_directions
            or data.temperature > 1
        ):
            raise UserError(
                "augmentation, tokens.sampling, data.both_directions and data.temperature are for pairs of sentences "
                "that translate one another: leave them at their defaults"
            )
    if any(corpus.tag or corpus.side_constraint for corpus in data.valid):
        raise UserError("data.valid: a corpus for validation has no tag, as the text to be translated later has none")


def require_other_files(config: RunConfig) -> None:
    """Raise `UserError` for a file that is given for both training and validation."""
    data = config.data
    learned = [*data.text, *(file for corpus in data.train for file in corpus.files)]
    paths = set(map(os.path.realpath, learned))
    for file in (*data.valid_text, *(file for corpus in data.valid for file in corpus.files)):
        if os.path.realpath(file) in paths:
            raise UserError(
                f"{file} is given for training and for validation, which would not measure generalization. Give other "
                "text for validation, or none, and bound the run with --max-minutes or --max-steps"
            )


def _check_files(config: RunConfig, folder: Path) -> None:
    """Raise `UserError` for a file that is missing, a pipe, of unknown format, or unreadable in its first line. Files
    that a resumed run has already stored may be missing."""
    data, resumed = config.data, is_resumed(folder)
    unseen = () if data.hold_out else data.valid  # held-out text is not there yet
    on_bad_line = silently if data.on_bad_line == "skip" else None
    for role, corpora in (("valid", unseen), ("train", data.train)):
        for number, corpus in enumerate(corpora):
            if corpus.tag != REPLAY and not (resumed and keeps(folder, f"{role}-{number}")):
                require_lasting(corpus.files)
                next(pairs_of(corpus, on_bad_line), None)
    if not (resumed and keeps(folder, "text-train")):
        for file in (*data.valid_text, *data.text):
            require_lasting([file])
            open_text(file).close()
    for file in config.augmentation.name_lists:
        read_names(file)


def _check_training(training: TrainingConfig) -> None:
    choose_precision(training.precision, choose_device(training.device))
    LOSSES.find(training.loss)
    if training.task:
        TASKS.find(training.task)
    for name in training.metrics:
        METRICS.find(name)
    require_loggers(training.loggers or ())
    if training.bleu_tokenize:
        bleu_metric(training.bleu_tokenize)
    further = [name for name in training.metrics if name != "ter"]  # lower is better
    figures = ("bleu", "chrf", "loss", "accuracy", "macro_f1", *further)
    if training.best_by not in figures:
        raise UserError(f"training.best_by={training.best_by}: choose from {', '.join(figures)}")


def _tokenizers(config: RunConfig, folder: Path) -> Tokenizers:
    """The tokenizers of the run if they are final, or of the model that it begins with; else a sample, of one
    character, of the same kind.

    Raises `UserError` for impossible vocabulary settings.
    """
    if is_resumed(folder):
        return load_tokenizers(folder / TOKENIZER)
    if config.begin_with:
        return load_tokenizers(find_model(config.begin_with) / TOKENIZER)
    tokens, reserved = config.tokens, further_pieces(config)
    if tokens.vocabulary_size is not None:
        require_size(tokens.vocabulary_size, len(reserved_pieces(languages_of(config), reserved)))
    small = config.model_copy(update={"tokens": tokens.model_copy(update={"vocabulary_size": None})})
    source, target = (learn_tokenizer(small, [text], 1, reserved=reserved) for text in "ab")
    return Tokenizers(source, source if tokens.joint or not config.data.train else target)


def _check_vocabulary(config: RunConfig, tokenizers: Tokenizers) -> None:
    """Raise `UserError` for what the vocabulary lacks: tags and marks that the run needs, the reserved tokens of plain
    text, random segmentations, or the tokens of the other language; and for one too many."""
    data, augmentation = config.data, config.augmentation
    if data.both_directions and not tokenizers.one_vocabulary:
        raise UserError(
            "data.both_directions needs one vocabulary for both languages: leave tokens.joint=true, or train a model "
            "for each direction"
        )
    if config.extend_vocabulary:
        require_extendable(config, tokenizers)
    needed = () if config.extend_vocabulary else RESERVED if config.begin_with and data.text else tags_of(config)
    try:
        for tag in needed:
            tokenizers.source.reserved_id(tag)
    except UserError as error:
        if not config.begin_with:
            raise
        remedy = "it was not made for plain text" if data.text else "--extend-vocabulary adds it"
        raise UserError(f"{config.begin_with}: {error}; {remedy}") from None
    if config.begin_with and config.learns == "labels" and not tokenizers.one_vocabulary:
        raise UserError(f"{config.begin_with}: it has a vocabulary for each side, and a classifier reads one language")
    for tokenizer in tokenizers:
        if augmentation.placeholders or augmentation.terms or augmentation.figures:
            require_marks(tokenizer)
        tokenizer.encode_sampled(["a"], amount=config.tokens.sampling, seed=0)


LABELS = ("one", "other")
"""Placeholders for the labels, which are known only after reading the text."""


def _check_model(config: RunConfig, tokenizers: Tokenizers) -> None:
    """Raise `UserError` if no model can be built with these settings, or sequences may be too long for it."""
    with torch.device("meta"):
        model = build_model(config.model, tokenizers, LABELS if config.data.train else ())
    freeze(model, config.training.freeze)
    if config.training.compile:
        require_compilable(model)
    in_blocks = config.data.text and not isinstance(model, MaskedModel)
    setting = "block" if in_blocks else "max_length"
    longest, length = longest_sequence(model), getattr(config.batching, setting)
    if longest is not None and length > longest:
        raise UserError(
            f"batching.{setting}={length} is more than the {longest} positions the model learns; lower it, or raise "
            "model.max_positions"
        )
