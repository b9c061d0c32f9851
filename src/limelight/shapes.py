"""The legend of every tensor shape in Limelight, in one place.

A shape is written in full in each public signature, with these names and no others:

| name      | letter | meaning                                                            |
|-----------|--------|--------------------------------------------------------------------|
| batch     | B      | rows: sentences, or hypotheses while a search runs                 |
| source    | S      | source positions                                                   |
| target    | T      | target positions                                                   |
| length    | L      | positions of either side, where it does not matter which           |
| query     | Q      | positions that ask                                                 |
| key       | K      | positions that are looked at                                       |
| model     | D      | width of the model                                                 |
| heads     | H      | attention heads                                                    |
| head_size |        | width of one head                                                  |
| hidden    |        | width of a recurrent state, a feed-forward layer or a score        |
| vocab     | V      | output classes: the pieces of the vocabulary without padding       |

`Float[Tensor, "batch source model"]` is a comment in production and a check in every test run, where the import hook of
jaxtyping verifies each annotated call (see `tests/conftest.py`). `...` stands for any leading axes.
"""

from jaxtyping import Bool, Float, Int

__all__ = ["Bool", "Float", "Int"]
