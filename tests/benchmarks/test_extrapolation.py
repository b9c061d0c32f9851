"""`benchmarks/extrapolation.py`: who copies by rule has a perfect score, and tiny runs lead to a picture."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks import ablation_rows, extrapolation
from benchmarks.extrapolation import COPYING, EVERYTHING, PIECES, POSITIONS, copied, copies, searched
from limelight.config import TransformerConfig
from limelight.decoding.engine import Engine
from limelight.decoding.request import Hypothesis, Request
from limelight.models.families import build_model
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers
from tests.benchmarks.test_ablations import data as data
from tests.decoding.decode import greedy_search

TINY = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 16, "d_ff": 11}


def test_sequences_are_what_is_asked_for_and_become_themselves(seed: int) -> None:
    batch = copies([3, 17, 5])
    assert batch.target_valid.sum(dim=1).tolist() == [4, 18, 6]
    assert torch.equal(batch.source, batch.target_out)
    pieces = batch.source[batch.source_valid & (batch.source != 0)]
    assert int(pieces.min()) >= 2
    assert int(pieces.max()) < PIECES.padding
    build_model(COPYING, Tokenizers(PIECES, PIECES))  # every one of them has an embedding


def test_mistakes_are_counted_by_sequence_and_by_place(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = copies([7] * 5)
    rows = batch.target_out[:, :-1].tolist()
    wrong = [other + 1 if other < PIECES.padding - 1 else 2 for other in rows[1][:1]] + rows[1][1:]
    answers = [(rows[0], True), (wrong, True), (rows[2][:4], True), (rows[3], False), ([*rows[4], 5], True)]
    monkeypatch.setattr(
        extrapolation, "searched",
        lambda *_: [Hypothesis(tuple(ids), 0.0, 0.0, finished) for ids, finished in answers],
    )  # fmt: skip
    model = build_model(COPYING, Tokenizers(PIECES, PIECES))
    assert copied(model, batch) == (1 / 5, (7 + 6 + 4 + 7 + 7) / 35)


def test_a_model_may_write_more_than_it_should(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit at the right length would hide who does not know where to end."""
    limits = []

    class Noted(Engine):
        def submit(self, request: Request) -> int:
            limits.append(request.max_tokens)
            return super().submit(request)

    monkeypatch.setattr(extrapolation, "Engine", Noted)
    copied(build_model(COPYING, Tokenizers(PIECES, PIECES)), copies([7, 7]))
    assert len(limits) == 2
    assert min(limits) > 7


def test_the_search_is_greedy(seed: int) -> None:
    model, batch = build_model(COPYING, Tokenizers(PIECES, PIECES)), copies([3, 7])
    limits = batch.target_valid.sum(dim=1) + 9
    expected = greedy_search(model, batch.source, batch.source_valid, max_lengths=limits)
    assert [each.ids for each in searched(model, batch)] == [each.ids for each in expected]


class Words:
    """Words for tokens."""

    @staticmethod
    def encode_batch(texts: list[str]) -> list[list[str]]:
        return [text.split() for text in texts]


def test_pairs_are_sorted_by_their_longer_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extrapolation, "FEWEST", 2)
    sizes = [(10, 1), (3, 11), (15, 15), (16, 2), (1, 20), (21, 2), (99, 99)]
    pairs = [Pair("a " * one, "b " * other, "file", 1) for one, other in sizes]
    found = extrapolation.buckets_of(pairs, Tokenizers(Words(), Words()))
    assert found == {15: pairs[1:3], 20: pairs[3:5]}


@pytest.mark.slow
def test_tiny_runs_lead_to_figures_and_a_picture(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, of models and lengths that take a moment."""
    small = TransformerConfig(**TINY, heads=4)
    monkeypatch.setattr(ablation_rows, "TRANSFORMER", small)
    monkeypatch.setattr(extrapolation, "COPYING", COPYING.model_copy(update=TINY))
    monkeypatch.setattr(extrapolation, "LENGTHS", (3, 5))
    monkeypatch.setattr(extrapolation, "MAX_COPIED", 3)
    monkeypatch.setattr(extrapolation, "ASKED", 4)
    monkeypatch.setattr(extrapolation, "FEWEST", 1)
    monkeypatch.setattr(extrapolation, "ProcessPoolExecutor", Here)
    extrapolation.main(
        data, tmp_path / "out", seeds=2, updates=2, steps=2, workers=1,
        results=tmp_path, picture=tmp_path / "picture.svg",
    )  # fmt: skip
    stored = json.loads((tmp_path / "extrapolation.json").read_text(encoding="utf-8"))
    for measure in ("whole", "places"):
        assert list(stored["copying"][measure]) == list(POSITIONS)
        for found in stored["copying"][measure].values():
            assert [list(points) for points in found] == [["3", "5"]] * 2
    losses = stored["multi30k"]["loss"]
    assert list(losses) == [*POSITIONS, EVERYTHING]
    assert len({tuple(points) for points in losses.values()}) == 1
    assert all(0 < loss < 20 for points in losses.values() for loss in points.values())
    assert capsys.readouterr().out.endswith(stored["table"] + "\n")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").count("<path") > 20


class Here:
    """A pool of no processes."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __enter__(self) -> "Here":
        return self

    def __exit__(self, *_: object) -> None: ...

    map = staticmethod(map)
