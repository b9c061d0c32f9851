"""What is done with an encoder alone: sentence vectors, guessed pieces, labels."""

from limelight.understanding.classify import Labelled, Labeller
from limelight.understanding.fill import Filled, Filler, Guess
from limelight.understanding.load import load_filler, load_labeller, load_reader
from limelight.understanding.reader import Reader

__all__ = ["Filled", "Filler", "Guess", "Labelled", "Labeller", "Reader", "load_filler", "load_labeller", "load_reader"]
