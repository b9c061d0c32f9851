"""The map of a model: its numbers are those of a Transformer written a second time, in NumPy and float64."""

import re
from typing import Any

import numpy as np
import pytest
import torch

from limelight.errors import UserError
from limelight.inspection.model_map import SUBLAYERS, VECTORS, inside, model_map
from limelight.inspection.similar import similar_words
from limelight.models.interface import Seq2Seq
from tests.inspection.fakes import Letters, Spelling
from tests.models.helpers import decoder_only, make_model, random_rows, recurrent, transformer
from tests.pipelines.test_explain import array


def pair(model: Seq2Seq) -> tuple[list[int], list[int]]:
    (source,), (target,) = random_rows([5], model.source_padding), random_rows([4], model.target_padding)
    return source, target


class Twin:
    """A Transformer of our size with sinusoidal positions, from its weights alone."""

    def __init__(self, model: Seq2Seq, *, pre: bool) -> None:
        self.weights = {name: value.double().numpy() for name, value in model.state_dict().items()}
        self.pre, self.stages = pre, dict[tuple[str, str, int], list[np.ndarray]]()
        self.units = dict[tuple[str, int], np.ndarray]()

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        centered = x - x.mean(axis=-1, keepdims=True)
        normed = centered / np.sqrt((centered**2).mean(axis=-1, keepdims=True) + 1e-5)
        return normed * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def attend(self, name: str, x: np.ndarray, memory: np.ndarray, *, causal: bool, heads: int = 3) -> np.ndarray:
        q, k, v = (
            self.linear(f"{name}.{each}_proj", given).reshape(len(given), heads, -1).transpose(1, 0, 2)
            for each, given in (("query", x), ("key", memory), ("value", memory))
        )
        scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        if causal:
            scores[:, np.triu_indices(len(x), 1)[0], np.triu_indices(len(x), 1)[1]] = -np.inf
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return self.linear(f"{name}.out_proj", (weights @ v).transpose(1, 0, 2).reshape(len(x), -1))

    def feed_forward(self, side: str, layer: int, x: np.ndarray) -> np.ndarray:
        name = f"{side}.layers.{layer}.feed_forward"
        self.units[side, layer] = np.maximum(self.linear(f"{name}.inner", x), 0)
        return self.linear(f"{name}.outer", self.units[side, layer])

    def stack(self, side: str, ids: list[int], memory: np.ndarray | None = None) -> np.ndarray:
        table = self.weights.get(f"{side}.embedding.weight", self.weights.get("decoder.embedding.weight"))
        assert table is not None
        width = table.shape[1]
        x = table[ids] * np.sqrt(width)
        self.stages[side, "embedding", -1] = [x]
        angles = np.arange(len(ids))[:, None] / 10_000 ** (np.arange(0, width + 1, 2)[None] / width)
        places = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(ids), -1)[:, :width]
        self.stages[side, "positions", -1] = [x, x, places, x + places, x + places]
        x = x + places
        for layer in range(2):
            start = f"{side}.layers.{layer}"

            def own(given: np.ndarray, start: str = start) -> np.ndarray:
                return self.attend(f"{start}.attention", given, given, causal=side == "decoder")

            def across(given: np.ndarray, start: str = start) -> np.ndarray:
                assert memory is not None
                return self.attend(f"{start}.cross_attention", given, memory, causal=False)

            def network(given: np.ndarray, layer: int = layer) -> np.ndarray:
                return self.feed_forward(side, layer, given)

            for what, function in (("self", own), ("cross", across), ("feed_forward", network)):
                if what == "cross" and memory is None:
                    continue
                norm = f"{start}.{SUBLAYERS[what][0]}.norm"
                read = self.norm(norm, x) if self.pre else x
                added = function(read)
                after = x + added if self.pre else self.norm(norm, x + added)
                self.stages[side, what, layer] = [x, read, added, x + added, after]
                x = after
        if self.pre:
            x = self.norm(f"{side}.norm", x)
            self.stages[side, "norm", -1] = [x]
        return x


def compared(model: Seq2Seq, source: list[int], target: list[int], *, pre: bool) -> Twin:
    twin = Twin(model, pre=pre)
    memory = twin.stack("encoder", [*source, model.end_id])
    twin.stack("decoder", [model.start_id, *target], memory)
    return twin


@pytest.mark.parametrize(("norm", "tie"), [("pre", "none"), ("post", "three-way")])
def test_norms_and_cosines_are_those_of_a_second_computation(norm: str, tie: str) -> None:
    torch.manual_seed(5)
    model = make_model(transformer(norm=norm, tie=tie)).eval()
    source, target = pair(model)
    twin = compared(model, source, target, pre=norm == "pre")
    found = model_map(model, model.batch([source], [target]))
    named: dict[tuple[str, str, int], dict[str, Any]] = {
        (stack["side"], each["what"], each["layer"]): each for stack in found["stacks"] for each in stack["stages"]
    }
    assert named.keys() == twin.stages.keys()
    for name, vectors in twin.stages.items():
        np.testing.assert_allclose(
            array(named[name]["norms"]), [np.linalg.norm(each, axis=-1) for each in vectors], rtol=2e-5, atol=2e-5
        )
        assert ("cosine" in named[name]) == (len(vectors) == len(VECTORS))
        if "cosine" in named[name]:
            x, _, added, *_ = vectors
            sizes = np.linalg.norm(x, axis=-1) * np.linalg.norm(added, axis=-1)
            cosine = (x * added).sum(axis=-1) / sizes.clip(1e-12)  # the embedding of the start is zero
            np.testing.assert_allclose(array(named[name]["cosine"]), cosine, rtol=2e-5, atol=2e-5)
    for stack in found["stacks"]:
        embedded, places = map(array, stack["heat"])
        np.testing.assert_allclose(embedded, twin.stages[stack["side"], "embedding", -1][0], rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(places, twin.stages[stack["side"], "positions", -1][2], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_inside_of_a_layer_are_the_vectors_of_a_second_computation(norm: str) -> None:
    torch.manual_seed(6)
    model = make_model(transformer(norm=norm)).eval()
    source, target = pair(model)
    twin = compared(model, source, target, pre=norm == "pre")
    for side, whats in (("encoder", ["self", "feed_forward"]), ("decoder", ["self", "cross", "feed_forward"])):
        found = inside(model, model.batch([source], [target]), side, 1, 3)
        assert [each["what"] for each in found["stages"]] == whats
        for each in found["stages"]:
            expected = [vector[3] for vector in twin.stages[side, each["what"], 1]]
            np.testing.assert_allclose(array(each["vectors"]), expected, rtol=2e-5, atol=2e-5)
        units = twin.units[side, 1][3]
        assert (found["units"]["size"], found["units"]["active"]) == (len(units), int((units > 0).sum()))
        numbers, values = zip(*found["units"]["largest"], strict=True)
        np.testing.assert_allclose(values, np.sort(units)[::-1][:8], rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(values, units[list(numbers)], rtol=2e-5, atol=2e-5)
    added = twin.stages["decoder", "feed_forward", 1][2][3]
    products = twin.weights["decoder.embedding.weight"][:-1] @ added
    assert [token for token, _ in found["raised"]] == np.argsort(-products)[:5].tolist()
    np.testing.assert_allclose(
        [value for _, value in found["raised"]], np.sort(products)[::-1][:5], rtol=2e-5, atol=2e-5
    )
    with pytest.raises(UserError, match="there is no position 9 in layer 1"):
        inside(model, model.batch([source], [target]), "decoder", 1, 9)


def test_similar_words_are_those_of_a_second_computation(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(8)
    monkeypatch.setattr("limelight.inspection.similar.BATCH", 2)
    model = make_model(transformer(norm="pre"), Letters.size, Letters.size).eval()
    tokenizer = Letters()
    texts = ["ab cde. f", "b. ab", "cde fgh ab", "aa"]
    ids = [tokenizer.encode(text) for text in texts]
    found = similar_words(model, tokenizer, texts, ids, 0, 1)

    def vectors(text: str) -> dict[str, np.ndarray]:
        twin = Twin(model, pre=True)
        twin.stack("encoder", [*tokenizer.encode(text), model.end_id])
        states = twin.stages["encoder", "feed_forward", 0][-1]  # a token for each character
        spans = {match[0]: range(*match.span()) for match in re.finditer(r"\S+", text)}
        return {word: states[[at for at in span if text[at].isalpha()]].mean(axis=0) for word, span in spans.items()}

    wanted = vectors(texts[0])["cde."]
    expected = sorted(
        (
            (float(state @ wanted / np.linalg.norm(state) / np.linalg.norm(wanted)), text, word)
            for text in texts[1:]
            for word, state in vectors(text).items()
        ),
        reverse=True,
    )
    assert [(each["text"], each["label"]["text"]) for each in found] == [(text, word) for _, text, word in expected]
    np.testing.assert_allclose([each["cosine"] for each in found], [value for value, *_ in expected], rtol=1e-4)
    assert all(each["text"].split()[each["number"]] == each["label"]["text"] for each in found)
    for word, layer, message in ((3, 0, "no word 3"), (0, 2, "no layer 2")):
        with pytest.raises(UserError, match=message):
            similar_words(model, tokenizer, texts, ids, layer, word)


@pytest.mark.parametrize("wiring", ["bahdanau", "luong"])
def test_a_recurrent_model_has_the_vectors_of_its_equations(wiring: str) -> None:
    torch.manual_seed(7)
    model = make_model(recurrent(wiring=wiring)).eval()
    source, target = pair(model)
    batch = model.batch([source], [target])
    found = model_map(model, batch)
    stages = {
        (stack["side"], each["what"]): array(each["norms"]) for stack in found["stacks"] for each in stack["stages"]
    }
    names = {"decoder": ["embedding", "recurrent", "context", "features"], "encoder": ["embedding", "recurrent"]}
    assert [*stages] == [(side, name) for side in ("encoder", "decoder") for name in names[side]]
    with torch.no_grad():
        features = model(batch)[0]
        annotations = model.encode(batch.source, batch.source_valid).annotations[0]
    np.testing.assert_allclose(
        stages["decoder", "features"][0], features.double().norm(dim=-1).numpy(), rtol=2e-5, atol=2e-5
    )
    np.testing.assert_allclose(
        stages["encoder", "recurrent"][0], annotations.double().norm(dim=-1).numpy(), rtol=2e-5, atol=2e-5
    )
    nearest, *_ = similar_words(model, Spelling(), ["ab", "cd"], [source[:2]] * 2, 0, 1)
    assert (nearest["number"], nearest["cosine"]) == (1, pytest.approx(1))
    notes = [each["note"] for stack in found["stacks"] for each in stack["stages"] if each["note"]]
    assert notes == ["1 × GRU", "1 × GRU"]


def test_other_families_have_the_stages_that_they_compute() -> None:
    ssru = make_model(transformer(decoder_autoreg="ssru")).eval()
    source, target = pair(ssru)
    decoder = model_map(ssru, ssru.batch([source], [target]))["stacks"][1]
    assert [each["what"] for each in decoder["stages"] if each["layer"] == 0] == ["ssru", "cross", "feed_forward"]
    alone = make_model(decoder_only()).eval()
    stacks = model_map(alone, alone.batch([source], [target]))["stacks"]
    assert [(stack["side"], stack["rows"]) for stack in stacks] == [("decoder", "read")]
