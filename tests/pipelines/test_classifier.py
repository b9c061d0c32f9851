"""A text in, a label out."""

import pytest
import torch

from limelight.errors import UserError
from limelight.pipelines import encoders
from tests.pipelines.helpers import LABELS, TEXTS, classifier


def test_the_label_is_the_most_probable_one(seed: int) -> None:
    found = classifier()
    texts = [*TEXTS, "", "cat cat cat"]
    for text, answer in zip(texts, found.classify(texts, batch_tokens=30), strict=True):
        ids = torch.tensor([[0, *found.tokenizer.encode(text), 0]])
        with torch.inference_mode():
            features = found.model.eval().read(ids, torch.ones_like(ids, dtype=torch.bool))
            shares = (features[0].mean(dim=0) @ found.model.output.weight.T + found.model.output.bias).softmax(dim=0)
        assert answer.text == text
        assert list(answer.probabilities) == list(LABELS)
        assert list(answer.probabilities.values()) == pytest.approx(shares.tolist(), abs=1e-5)
        assert answer.probability == max(answer.probabilities.values())
        assert answer.label == max(answer.probabilities, key=answer.probabilities.__getitem__)
        assert sum(answer.probabilities.values()) == pytest.approx(1)


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
def test_a_stream_gives_what_a_list_gives(chunk: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoders, "CHUNK", chunk)
    found = classifier()
    expected = found.classify(TEXTS)
    streamed = list(found.classify_stream(iter(TEXTS)))
    assert [each.text for each in streamed] == TEXTS
    for one, other in zip(streamed, expected, strict=True):
        assert one.probability == pytest.approx(other.probability, abs=1e-6)


def test_what_cannot_be_done_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="batch_tokens must be at least 1, not 0"):
        classifier().classify(TEXTS, batch_tokens=0)
    with pytest.raises(UserError, match="texts is 'a cat': give a list of texts"):
        classifier().classify("a cat")
    with pytest.raises(UserError, match="texts is 'a cat': give a list of texts"):
        classifier().vectors("a cat")
    assert [each.text for each in classifier().classify_stream("a cat")] == ["a cat"]
    monkeypatch.setattr(encoders, "CHUNK", 2)
    short = classifier(positions="learned", max_positions=5)
    with pytest.raises(UserError, match="text 4 has 7 tokens with its end"):
        list(short.classify_stream(["a", "cat", "dog", "a cat sees a cat"]))
