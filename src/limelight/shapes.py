"""Names of the axes of tensor shapes in Limelight.

Public signatures give full shapes, with these names only:

| name       | letter | meaning                                                           |
|------------|--------|-------------------------------------------------------------------|
| batch      | B      | sentences                                                         |
| width      |        | hypotheses of a sentence, which share one source                  |
| rows       |        | hypotheses of all sentences, end to end                           |
| source     | S      | source positions                                                  |
| target     | T      | target positions                                                  |
| read       |        | target positions that a decoder reads; 0 without a decoder        |
| length     | L      | positions of either side                                          |
| query      | Q      | positions that attend                                             |
| key        | K      | positions that are attended to                                    |
| model      | D      | width of a Transformer                                            |
| heads      | H      | attention heads                                                   |
| kv_heads   |        | heads of keys and values, fewer where queries share them          |
| head_size  |        | width of one head's queries and keys                              |
| size       |        | width of one head's keys, of its values, or of half a head        |
| inner      |        | width of all heads, concatenated                                  |
| query_size |        | width of queries, where it may differ from the width of keys      |
| key_size   |        | width of prepared keys                                            |
| value_size |        | width of values                                                   |
| placed     |        | width of queries or keys, followed by their positions             |
| hidden     |        | width of a recurrent state, a feed-forward layer or a score       |
| embedding  |        | width of a recurrent model's embedding                            |
| inputs     |        | input width of a recurrent cell                                   |
| in         |        | inputs of a linear layer                                          |
| out        |        | outputs of a linear layer                                         |
| some       |        | some of the outputs of a linear layer                             |
| summary    |        | width of a recurrent encoder's final state                        |
| features   |        | input width of the output projection                              |
| vocab      | V      | output classes: the tokens of the vocabulary without padding      |
| labels     |        | labels that a classifier chooses among                            |
| classes    |        | output classes: tokens, or labels                                 |
| columns    |        | keys and values in a state: `width` of them for each step         |
| room       |        | keys and values for which a state has memory                      |
| rank       |        | continuations in order, the best first                            |
| kept       |        | sentences that are kept                                           |
| fresh      |        | sentences that join                                               |
| slots      |        | slots of sentences in a state                                     |

`Float[Tensor, "batch source model"]` is a comment in production and a check in every test run, where the import hook of
jaxtyping verifies each annotated call (see `tests/conftest.py`). `...` stands for any leading axes.
"""

from jaxtyping import Bool, Float, Int

__all__ = ["Bool", "Float", "Int"]
