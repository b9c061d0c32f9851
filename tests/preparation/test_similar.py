"""Similar pairs of the training text: never the pair itself nor its source again; read from disk when a run resumes."""

from pathlib import Path

import numpy as np

from limelight.batching.drawing import Drawing, View, augmented_pairs, texts_of, varied_rows
from limelight.batching.store import StoreWriter, TokenStore
from limelight.preparation.align import find_similar
from limelight.text.augmentation import Languages
from limelight.text.marking import SIMILAR_MARK
from limelight.tokens import SIMILAR, Tokenizers, train_tokenizer

PAIRS = [
    ("Open the file menu now", "Menü Datei jetzt öffnen"),
    ("Open the edit menu now", "Menü Bearbeiten jetzt öffnen"),
    ("Open the file menu now", "Jetzt das Menü Datei öffnen"),
    ("Completely different words here", "Ganz andere Wörter hier"),
]
TOKENIZER = train_tokenizer(
    [side for pair in PAIRS for side in pair], kind="characters", vocabulary_size=None, languages=["de"],
    byte_fallback=False, seed=1, sentences=4, reserved=(SIMILAR,),
)  # fmt: skip
BOTH = Tokenizers(TOKENIZER, TOKENIZER)


def store(run: Path) -> TokenStore:
    with StoreWriter(run / "data/train-0", vocabulary_size=TOKENIZER.size) as writer:
        sides = [[pair[side] for pair in PAIRS] for side in range(2)]
        writer.append(*(TOKENIZER.encode_batch(side) for side in sides), *sides, [False] * len(PAIRS))
        return writer.close("f" * 64)


def test_the_similar_pair_has_another_source(tmp_path: Path) -> None:
    said: list[str] = []
    [found] = find_similar([store(tmp_path)], tmp_path, said.append)
    assert found.tolist() == [1, 2, 1, -1], "of equal ones the last; rows 0 and 2 have the same source"
    assert said == ["train-0: 3 of 4 pairs have a similar one"]
    [again] = find_similar([store(tmp_path)], tmp_path, said.append)
    assert (again.tolist(), len(said)) == (found.tolist(), 1), "it is read from disk"


def test_the_target_of_the_similar_pair_follows_the_source(tmp_path: Path) -> None:
    made = store(tmp_path)
    [found] = find_similar([made], tmp_path, lambda _: None)
    views = [View(made, 1.0, (), Languages("en", "de"), None, found)]
    chosen = np.array([[0, row] for row in range(4)])
    how = Drawing(rates={"memory": 1.0})
    drawn = augmented_pairs(views, chosen, texts_of(views, chosen), how, seed=1)
    assert [each.pair.source for each in drawn] == [
        *(f"{PAIRS[row][0]}{SIMILAR_MARK}{PAIRS[other][1]}" for row, other in enumerate((1, 2, 1))), PAIRS[3][0]
    ]  # fmt: skip
    assert [each.pair.target for each in drawn] == [target for _, target in PAIRS]
    rows = varied_rows(views, BOTH, how, chosen, (1, 2))
    separator = TOKENIZER.reserved_id(SIMILAR)
    assert rows.sources[0].tolist() == [*TOKENIZER.encode(PAIRS[0][0]), separator, *TOKENIZER.encode(PAIRS[1][1])]
    short = Drawing(rates={"memory": 1.0}, max_length=30)
    assert varied_rows(views, BOTH, short, chosen, (1, 2)).sources[0].tolist() == TOKENIZER.encode(PAIRS[0][0])
    other = [View(made, similar=None)]
    assert all(not each.applied for each in augmented_pairs(other, chosen, texts_of(other, chosen), how, seed=1))
