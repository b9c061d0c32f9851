"""A run that begins with the weights and the vocabulary of a model that is there, instead of random ones."""

from collections.abc import Mapping

from torch import Tensor

from limelight.errors import UserError
from limelight.models.compact import expand
from limelight.models.encoder_only import Classifier
from limelight.models.interface import Model
from limelight.models.labels import read_labels
from limelight.models.stored import LABELS, WEIGHTS, find_model
from limelight.models.weights import named_weights, put_weights, read_weights
from limelight.training.prepare import Say

HEAD = "output."
"""The names of a classifier's last layer begin so."""


def borrow_weights(model: Model, begin_with: str, say: Say) -> None:
    """Put in the weights of the other model, and list what is new here and what is left out of it.

    A masked model gives a classifier its encoder so, and leaves it to learn the labels; a classifier with other labels
    gives all but its last layer. Raises `UserError` where nothing fits, or a weight has another shape.
    """
    place = find_model(begin_with)
    theirs = expand(read_weights(place / WEIGHTS)[0], where=str(place / WEIGHTS))
    if isinstance(model, Classifier) and (place / LABELS).is_file() and read_labels(place / LABELS) != model.labels:
        theirs = {name: tensor for name, tensor in theirs.items() if not name.startswith(HEAD)}
        say(f"the labels are not those of {begin_with}: the last layer begins with random weights")
    own = named_weights(model)
    _require_shapes(own, theirs, begin_with)
    taken = {name: theirs[name] for name in own if name in theirs}
    if not taken:
        raise UserError(f"{begin_with}: none of its weights fits this model; choose the recipe it was trained with")
    put_weights(model, {**own, **taken}, where=str(place / WEIGHTS))
    told = f"beginning with {len(taken)} of {len(theirs)} weights of {begin_with}"
    told += _listed("new are", own.keys() - taken.keys())
    say(told + _listed("left out are", theirs.keys() - taken.keys()))


def _require_shapes(own: Mapping[str, Tensor], theirs: Mapping[str, Tensor], begin_with: str) -> None:
    """Raises `UserError` for a weight of another shape, which the settings that were compared do not explain."""
    other = [
        f"{name} is {tuple(theirs[name].shape)} there, {tuple(tensor.shape)} here"
        for name, tensor in own.items()
        if name in theirs and theirs[name].shape != tensor.shape
    ]
    if other:
        raise UserError(f"{begin_with}: its weights do not fit this model: {'; '.join(other[:5])}")


def _listed(what: str, names: set[str]) -> str:
    if not names:
        return ""
    return f"; {what} {', '.join(sorted(names)[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"
