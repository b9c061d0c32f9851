"""Rows for the tokens that a vocabulary got later (`tokens/extend.py`): the mean of the rows that they replace."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from limelight.config import RunConfig
from limelight.errors import UserError
from limelight.models.build import build_model
from limelight.models.interface import Model
from limelight.storage.model import StoredModel
from limelight.storage.weights import named_weights, put_weights
from limelight.tokens import Tokenizers
from limelight.tokens.extend import Extension


def extend_model(stored: StoredModel, extension: Extension) -> tuple[Model, Tokenizers]:
    """The model with the larger vocabulary, and its tokenizers. Its outputs differ only by the new tokens: the
    existing rows keep their values.

    Args:
        stored: a model with a joint vocabulary.
        extension: of its tokenizer.

    Raises:
        UserError: the vocabularies of the two sides are separate.
    """
    if stored.tokenizers.source is not stored.tokenizers.target:
        raise UserError(
            f"{stored.folder}: only a joint vocabulary can be extended, and this model has one for each side"
        )
    tokenizers = Tokenizers(extension.tokenizer, extension.tokenizer)
    model = _built(stored.config, tokenizers)
    own, theirs = named_weights(model), named_weights(stored.model)
    weights = _extended(own, theirs, extension.parts, stored.tokenizers.target.padding)
    put_weights(model, weights, where=str(stored.folder))
    return model, tokenizers


def _built(config: RunConfig, tokenizers: Tokenizers) -> Model:
    with torch.random.fork_rng(devices=[]):
        return build_model(config.model, tokenizers).eval()


def _extended(
    own: Mapping[str, Tensor], theirs: Mapping[str, Tensor], parts: Sequence[tuple[int, ...]], padding: int
) -> dict[str, Tensor]:
    """The weights, with rows for the new tokens where the first axis is the vocabulary."""
    return {
        name: tensor if tensor.shape == own[name].shape else _with_rows(tensor, parts, padding)
        for name, tensor in theirs.items()
    }


def _with_rows(tensor: Tensor, parts: Sequence[tuple[int, ...]], padding: int) -> Tensor:
    """The new rows follow the old ones. Padding, where it has a row, stays the last."""
    new = torch.stack([tensor[list(ids)].float().mean(0) for ids in parts]).to(tensor.dtype)
    return torch.cat([tensor[:padding], new, tensor[padding:]])
