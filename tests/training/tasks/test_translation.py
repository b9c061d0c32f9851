"""What a validation on unseen text measures, and that it leaves everything as it was."""

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from limelight.batching.store import AlignmentStore, Ragged, TokenStore
from limelight.config import BatchingConfig, Corpus, DataConfig, Direction, RunConfig, TrainingConfig
from limelight.errors import UserError
from limelight.evaluation.metrics import corpus_bleu, corpus_chrf
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from limelight.pipelines.translator import Translator
from limelight.preparation.pairs import Prepared
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.training.optimization.loss import batch_loss
from limelight.training.tasks.task import Validation, mean_loss, require_room_for
from limelight.training.tasks.translation import (
    Translation,
    balance,
    mean_of,
    valid_pairs,
    views_of,
)
from tests.models.helpers import batch_of
from tests.training.helpers import TRANSFORMER, write_pairs


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    path = Path(write_pairs(tmp_path_factory.mktemp("text") / "valid.tsv", 23))
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Pair(*line.split("\t"), str(path), number) for number, line in enumerate(lines, start=1)]


@pytest.fixture(scope="module")
def tokenizers(pairs: list[Pair]) -> Tokenizers:
    texts = [side for pair in pairs for side in (pair.source, pair.target)]
    both = train_tokenizer(
        texts, kind="bpe", vocabulary_size=90, languages=["en", "de"], byte_fallback=False, seed=1, sentences=23
    )
    return Tokenizers(both, both)


@pytest.fixture(scope="module")
def tagging() -> Tokenizers:
    """A vocabulary with the tag of back-translated text."""
    both = train_tokenizer(
        ["one two", "eins zwei"], kind="bpe", vocabulary_size=None, languages=["en", "de"], byte_fallback=False,
        seed=1, sentences=2, reserved=["<bt>"],
    )  # fmt: skip
    return Tokenizers(both, both)


@pytest.fixture
def model(tokenizers: Tokenizers, seed: int) -> Seq2Seq:
    return build_model(TRANSFORMER, tokenizers)


def validated(model: Seq2Seq, tokenizers: Tokenizers, pairs: list[Pair], sentences: int) -> Validation:
    return task_of(model, tokenizers, pairs, sentences).validate(model, "fp32")


def task_of(
    model: Seq2Seq, tokenizers: Tokenizers, pairs: list[Pair], sentences: int = 5, **batching: int
) -> Translation:
    """A task with one corpus of a single pair."""
    config = RunConfig(
        data=DataConfig(train=(Corpus(files=("text.tsv",)),), valid=(Corpus(files=("valid.tsv",)),)),
        batching=BatchingConfig(**{"tokens": 60, **batching}),
        training=TrainingConfig(bleu_sentences=sentences),
    )
    one = Ragged(np.array([3, 4], dtype="<u2"), np.array([0, 2]))
    return Translation(config, Prepared(tokenizers, [TokenStore(one, one, one, one)], [pairs]), model)


def test_the_loss_is_per_piece_over_all_pairs(model: Seq2Seq, tokenizers: Tokenizers, pairs: list[Pair]) -> None:
    total, pieces = 0.0, 0
    model.eval()
    for pair in pairs:
        batch = batch_of(model, [tokenizers.source.encode(pair.source)], [tokenizers.target.encode(pair.target)])
        total += batch_loss(model, batch, label_smoothing=0.0).item()
        pieces += batch.target_tokens
    (valid,) = task_of(model, tokenizers, pairs).valid.values()
    batches = valid.batches
    assert len(batches) > 3
    found = mean_loss(model.train(), batches, "fp32")
    assert found == pytest.approx(total / pieces, rel=1e-5)
    assert found == pytest.approx(math.log(90), rel=0.4)  # random weights know nothing


def test_a_look_changes_nothing(model: Seq2Seq, tokenizers: Tokenizers, pairs: list[Pair]) -> None:
    model.train()
    model.decoder.eval()  # whatever mode each part has
    modes = [module.training for module in model.modules()]
    state = torch.get_rng_state()
    once, again = (validated(model, tokenizers, pairs, 5) for _ in range(2))
    assert once == again
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())


def test_bleu_is_that_of_greedy_translations(model: Seq2Seq, tokenizers: Tokenizers, pairs: list[Pair]) -> None:
    seen = validated(model, tokenizers, pairs, 99)
    sources = [pair.source for pair in pairs]
    outputs = Translator(model, tokenizers).translate(sources, beam_size=1, lines=True, guards=False)
    texts, references = [each.text for each in outputs], [pair.target for pair in pairs]
    assert seen.figures == {
        "bleu": corpus_bleu(texts, references).score,
        "chrf": corpus_chrf(texts, references).score,
    }
    shown = (pairs[11].source, pairs[11].target, outputs[11].text)
    assert seen.example == tuple(zip(("source", "reference", "model"), shown, strict=True))


@pytest.mark.parametrize(
    ("seen", "by", "score"),
    [
        (Validation(2.0, {"bleu": 31.0}), "bleu", 31.0),
        (Validation(2.0, {"bleu": 31.0}), "loss", -2.0),
        (Validation(2.0), "bleu", -2.0),
        (Validation(2.0, {"bleu": 31.0, "chrf": 53.0}), "bleu", 31.0),
        (Validation(2.0, {"bleu": 31.0, "chrf": 53.0}), "chrf", 53.0),
        (Validation(2.0, {"bleu": 0.99, "chrf": 53.0}), "bleu", 0.53),
        (Validation(2.0, {"bleu": 0.0, "chrf": 100.0}), "bleu", 1.0),
        (Validation(2.0, {"bleu": 0.0, "chrf": 53.0}), "loss", -2.0),
    ],
)
def test_the_score_is_the_figure_to_be_raised(seen: Validation, by: str, score: float) -> None:
    assert seen.score(by) == score


def test_how_bleu_is_measured_is_known(
    model: Seq2Seq, tokenizers: Tokenizers, pairs: list[Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of(model, tokenizers, pairs, 5)
    assert task.measured_by == "sacreBLEU 13a, cased, greedy, 5 of 23 sentences"
    assert task_of(model, tokenizers, pairs, 0).measured_by == ""
    chinese = [Pair(pair.source, "一隻狗看見一隻貓", "a.tsv", 1) for pair in pairs]
    task = task_of(model, tokenizers, chinese, 99)
    found = "sacreBLEU zh, cased, greedy, 23 of 23 sentences"
    assert task.measured_by == found
    parrot = SimpleNamespace(text="一隻狗看見一隻貓")
    monkeypatch.setattr(Translator, "translate", lambda _, texts, **__: [parrot] * len(texts))
    assert task.validate(model, "fp32").figures["bleu"] == pytest.approx(100)


def test_a_pair_that_the_model_cannot_take_is_named(tokenizers: Tokenizers, pairs: list[Pair]) -> None:
    sides = [[tokenizers.source.encode(text)] for text in (pairs[0].source, pairs[0].target)]
    longest = max(len(side[0]) for side in sides) + 1
    with pytest.raises(UserError, match=r"valid\.tsv:1: this text for validation has \d+ tokens"):
        require_room_for(pairs[:1], *sides, longest=longest - 1)
    require_room_for(pairs[:1], *sides, longest=longest)


def prepared(tokenizers: Tokenizers, *sizes: int, words: Sequence[AlignmentStore] = ()) -> Prepared:
    found = []
    for size in sizes:
        one = Ragged(np.full(2 * size, 7, dtype="<u2"), np.arange(0, 2 * size + 1, 2))
        found.append(TokenStore(one, one, one, one))
    return Prepared(tokenizers, found, [], words)


def directed(*directions: tuple[str, str], **changes: object) -> DataConfig:
    corpora = tuple(Corpus(files=("t.tsv",), source=source, target=target) for source, target in directions)
    return DataConfig(train=corpora, **changes)


def with_tag(data: DataConfig, number: int) -> DataConfig:
    """The same, its corpus of this number back-translated."""
    train = [
        corpus.model_copy(update={"tag": "bt" if place == number else ""}) for place, corpus in enumerate(data.train)
    ]
    return data.model_copy(update={"train": tuple(train)})


def test_back_translated_text_has_its_tag_after_that_of_the_language(tagging: Tokenizers) -> None:
    pieces = tagging.source.pieces
    data = with_tag(directed(("en", "de"), ("en", "de")), 1)
    assert [pieces(view.prefix) for view in views_of(data, prepared(tagging, 3, 4))] == [[], ["<bt>"]]
    views = views_of(data.model_copy(update={"both_directions": True}), prepared(tagging, 3, 4))
    assert [(view.languages.target, pieces(view.prefix)) for view in views] == [
        ("de", ["<2de>"]),
        ("en", ["<2en>"]),
        ("de", ["<2de>", "<bt>"]),
    ]


def test_each_of_several_directions_has_the_tag_of_its_target(tokenizers: Tokenizers) -> None:
    given = prepared(tokenizers, 3)
    there, back = views_of(directed(("en", "de"), both_directions=True), given)
    names = [tokenizers.source.pieces(view.prefix) for view in (there, back)]
    assert names == [["<2de>"], ["<2en>"]]
    assert [view.languages for view in (there, back)] == [("en", "de"), ("de", "en")]
    assert back.store.sources is given.stores[0].targets
    assert back.store.target_texts is given.stores[0].source_texts


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0, 100.0])
def test_corpora_are_drawn_in_proportion_to_a_root_of_their_size(temperature: float) -> None:
    sizes = [90_000, 10_000, 400]
    drawn = [share * size for share, size in zip(balance(sizes, temperature), sizes, strict=True)]
    assert sum(drawn) == pytest.approx(sum(sizes))
    for one, other, size, other_size in zip(drawn, drawn[1:], sizes, sizes[1:], strict=False):
        assert one / other == pytest.approx((size / other_size) ** (1 / temperature))


def test_the_mean_of_the_directions_selects_and_each_is_kept() -> None:
    one, other = (
        Validation(2.0, {"bleu": 30.0, "chrf": 50.0}, (("source", "a"),)),
        Validation(3.0, {"bleu": 20.0, "chrf": 45.0}),
    )
    found = mean_of({Direction("en", "de"): one, Direction("de", "en"): other})
    assert (found.loss, found.figures) == (2.5, {"bleu": 25.0, "chrf": 47.5})
    assert found.score("bleu") == 25.0
    assert found.example == one.example
    assert found.directions == {
        "en-de": {"loss": 2.0, "bleu": 30.0, "chrf": 50.0},
        "de-en": {"loss": 3.0, "bleu": 20.0, "chrf": 45.0},
    }
    assert mean_of({Direction("en", "de"): one}) is one


def test_validation_text_is_used_both_ways(pairs: list[Pair]) -> None:
    corpus = Corpus(files=("v.tsv",), source="en", target="de")
    both = valid_pairs(directed(("en", "de"), valid=(corpus,), both_directions=True), [pairs])
    assert [str(direction) for direction in both] == ["en-de", "de-en"]
    assert [pair.source for pair in both[Direction("de", "en")]] == [pair.target for pair in pairs]
    one = valid_pairs(directed(("en", "de"), valid=(corpus, corpus)), [pairs[:3], pairs[3:]])
    assert one == {Direction("en", "de"): pairs}
