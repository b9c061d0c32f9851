"""The legend of every tensor shape in Limelight, in one place.

A shape is written in full in each public signature, with these names and no others:

| name       | letter | meaning                                                           |
|------------|--------|-------------------------------------------------------------------|
| batch      | B      | sentences                                                         |
| width      |        | hypotheses of a sentence, which share one source                  |
| rows       |        | hypotheses of all sentences, end to end                           |
| source     | S      | source positions                                                  |
| target     | T      | target positions                                                  |
| read       |        | target positions that a decoder reads; none where there is none    |
| length     | L      | positions of either side, where it does not matter which          |
| query      | Q      | positions that ask                                                |
| key        | K      | positions that are attended to                                    |
| model      | D      | width of a Transformer                                            |
| heads      | H      | attention heads                                                   |
| changes    |        | what is changed of each head: its share, its temperature          |
| head_size  |        | width of one head's queries and keys                              |
| size       |        | width of one head's keys, or of its values                        |
| inner      |        | width of all heads, end to end                                    |
| query_size |        | width of queries, where it may differ from that of keys           |
| key_size   |        | width of what is compared                                         |
| value_size |        | width of what is summed                                           |
| hidden     |        | width of a recurrent state, a feed-forward layer or a score       |
| embedding  |        | width of a recurrent model's embedding                            |
| inputs     |        | width of what enters a recurrent cell                             |
| in         |        | inputs of a linear layer                                          |
| out        |        | outputs of a linear layer                                         |
| some       |        | some of the outputs of a linear layer                             |
| layers     |        | recurrent layers, the lowest first                                |
| summary    |        | width of what a recurrent encoder ends with                       |
| features   |        | width of what predicts the next token                             |
| vocab      | V      | output classes: the tokens of the vocabulary without padding      |
| labels     |        | labels that a classifier chooses among                            |
| classes    |        | output classes: tokens, or labels                                 |
| columns    |        | keys and values in a state: `width` of them for each step         |
| rank       |        | continuations in order, the best first                            |
| room       |        | columns there is place for                                        |
| pieces     |        | tokens of one sentence                                            |
| kept       |        | sentences that stay                                               |
| fresh      |        | sentences that join                                               |
| places     |        | where sentences stand in a state                                  |
| picked     |        | columns that stay                                                 |
| block      |        | blocks of a vocabulary                                            |
| inside     |        | classes of a block                                                |
| tail       |        | classes behind the last whole block                               |

`Float[Tensor, "batch source model"]` is a comment in production and a check in every test run, where the import hook of
jaxtyping verifies each annotated call (see `tests/conftest.py`). `...` stands for any leading axes.
"""

from jaxtyping import Bool, Float, Int

__all__ = ["Bool", "Float", "Int"]
