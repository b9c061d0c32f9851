"""Invented parallel text: sentences of frequent and of rare words, each with one translation."""

import random


def invented_pairs(count: int, seed: int, *, words: int = 200) -> list[tuple[str, str]]:
    """Sentences of 3 to 10 words, which the other language has in another order, with a word of its own or not."""
    draw = random.Random(seed)
    syllables = [f"{first}{vowel}" for first in "bdfgklmnprst" for vowel in "aeiou"]
    forms = random.Random(1)
    known = [
        ("".join(forms.choices(syllables, k=3)), "".join(forms.choices(syllables, k=3)) + "x") for _ in range(words)
    ]
    weights = [1 / (rank + 3) for rank in range(words)]
    found = []
    for _ in range(count):
        chosen = draw.choices(known, weights, k=draw.randint(3, 10))
        target = [other for _, other in chosen]
        draw.shuffle(target)
        if draw.random() < 0.5:
            target.insert(0, "zu")
        found.append((" ".join(one for one, _ in chosen), " ".join(target)))
    return found
