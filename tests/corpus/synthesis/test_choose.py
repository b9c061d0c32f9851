"""Of several translations the one most like the reference is taken, or the model's best."""

import pytest

from limelight.corpus.synthesis import chooser
from limelight.pipelines.translator import Translation


def translations(*texts: str) -> Translation:
    first, *others = (Translation(text, 0.0, (), 0.0, "", finished=True) for text in texts)
    return Translation(first.text, 0.0, (), 0.0, "", finished=True, alternatives=tuple(others))


@pytest.mark.parametrize("metric", ["bleu", "chrf"])
def test_the_most_similar_one_is_taken(metric: str) -> None:
    found = translations("ein Hund rennt", "ein Hund läuft dort", "eine Katze")
    choose = chooser(metric)
    assert choose(found, "der Hund läuft dort").text == "ein Hund läuft dort"
    assert choose(found, "eine Katze").text == "eine Katze"
    assert choose(found, "  ").text == "ein Hund rennt"
    assert choose(found, "www").text == "ein Hund rennt"  # all alike: the model's own
    assert chooser("")(found, "eine Katze").text == "ein Hund rennt"
