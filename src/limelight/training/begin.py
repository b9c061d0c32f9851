"""A run that begins with the weights and the vocabulary of a model that is there, instead of random ones."""

from limelight.errors import UserError
from limelight.models.compact import expand
from limelight.models.interface import Model
from limelight.models.stored import WEIGHTS, find_model
from limelight.models.weights import named_weights, put_weights, read_weights
from limelight.training.prepare import Say


def borrow_weights(model: Model, begin_with: str, say: Say) -> None:
    """Put in every weight whose name and shape the other model has, too; the rest stays as it is.

    A masked model gives a classifier its encoder so, and leaves it to learn the labels. Raises `UserError` where
    nothing fits.
    """
    place = find_model(begin_with) / WEIGHTS
    theirs = expand(read_weights(place)[0], where=str(place))
    own = named_weights(model)
    fitting = {
        name: theirs[name] for name, tensor in own.items() if name in theirs and theirs[name].shape == tensor.shape
    }
    if not fitting:
        raise UserError(f"{begin_with}: none of its weights fits this model; choose the recipe it was trained with")
    put_weights(model, {**own, **fitting}, where=str(place))
    new = sorted(own.keys() - fitting.keys())
    rest = f"; new are {', '.join(new[:5])}{' ...' if len(new) > 5 else ''}" if new else ""
    say(f"beginning with {len(fitting)} of {len(own)} weights of {begin_with}{rest}")
