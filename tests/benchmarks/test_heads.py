"""The benchmark of pruned models compares translators that take turns."""

from benchmarks.heads import ROUNDS, compared
from limelight.text.pair import Pair


class Said:
    def __init__(self, text: str) -> None:
        self.text, self.tokens = text, tuple(text.split())


class Translator:
    def __init__(self, name: str, calls: list[str], said: str) -> None:
        self.name, self.calls, self.said = name, calls, said

    def translate(self, texts, *, beam_size=None, **options):
        self.calls.append(self.name if beam_size == 1 else self.name + " as it is")
        return [Said(self.said) for _ in texts]


def test_bleu_is_of_the_models_own_search_and_the_time_of_greedy_rounds():
    calls: list[str] = []
    right, wrong = "the old dog sleeps", "no word of it"
    pairs = [Pair("x", right, "x", 1), Pair("y", right, "x", 2)]
    found = compared({4: Translator("whole", calls, right), 2: Translator("half", calls, wrong)}, pairs)
    assert found[4][0] > 99
    assert found[2][0] < 1
    assert calls == ["whole as it is", "half as it is", *["whole", "half"] * ROUNDS]
    assert all(0 <= seconds < 1 for _, seconds in found.values())
