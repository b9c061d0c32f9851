"""`benchmarks/classify.py`: how its texts are divided, and that its regression is one."""

import pytest
import torch

from benchmarks import classify

SIZES = {"train": 60, "valid": 12, "test": 24}


def sentences() -> dict[str, list[str]]:
    english = [f"is {number} here?" for number in range(60)] + [f"{number} is here." for number in range(90)]
    return {
        "caption": [f"a man {number}" for number in range(60)],
        "en": sorted(english),
        "de": [f"ein Hund {number}." for number in range(40)],
        "fr": [f"un chien {number}." for number in range(40)],
    }


def test_labels_are_even_and_no_text_is_in_two_parts() -> None:
    tasks, unused = classify.make_tasks(sentences(), SIZES)
    assert set(tasks) == {"language", "caption", "question", "few"}
    for task, parts in tasks.items():
        assert (len(parts.train), len(parts.valid), len(parts.test)) == (60, 12, 24)
        texts = [text for rows in parts for text, _ in rows]
        assert len(set(texts)) == len(texts)
        labels = [label for rows in parts for _, label in rows]
        assert {labels.count(label) for label in set(labels)} == {len(labels) // len(set(labels))}
        if task == "question":
            assert not any(text.endswith(("?", ".")) for text in texts)
    seen = {text for parts in tasks.values() for rows in parts for text, _ in rows}
    assert unused
    assert not seen & {text[:-1] for text in unused}
    assert not seen & set(unused)


def test_words_and_pairs() -> None:
    assert classify.words_of("Is it? it IS", 1) == {"is", "it", "?"}
    assert classify.words_of("Is it", 2) == {"is", "it", " is", "is it", "it "}


def test_the_regression_finds_the_smallest_loss(seed: int) -> None:
    """Against Newton's method on the same loss, written out."""
    bags = [torch.tensor(words, dtype=torch.int64) for words in ([0, 1], [1], [2], [0, 2], [3], [1, 3], [0], [])] * 500
    truth = torch.tensor([0, 0, 1, 1, 1, 0, 0, 1] * 500)
    decay = 0.01
    fitted = classify.fit((bags, truth), 4, 2, decay)
    present = torch.tensor([[float(word in bag) for word in range(4)] for bag in bags], dtype=torch.float64)
    weight = torch.zeros(4, 2, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weight, bias], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        found = torch.nn.functional.cross_entropy(present @ weight + bias, truth) + decay * weight.square().sum()
        found.backward()
        return found

    optimizer.step(loss)
    with torch.inference_mode():
        logits = fitted(bags)
        found = torch.nn.functional.cross_entropy(logits, truth) + decay * fitted.weight.weight.square().sum()
    assert float(found) == pytest.approx(float(loss().detach()), abs=0.02)


def test_the_regression_is_measured_on_unseen_texts() -> None:
    tasks, _ = classify.make_tasks(sentences(), SIZES)
    found = classify.regression(tasks["language"], 2)
    assert found["accuracy"] > 95
    assert set(found) == {"accuracy", "macro_f1", "parameters", "seconds"}
