"""A run that begins with another model: its general text, the choice of its weights, and its scores."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
import torch

from limelight.config import (
    Corpus,
    DataConfig,
    Direction,
    RunConfig,
    TransformerConfig,
    directions_of,
    dump_config,
    load_config,
)
from limelight.errors import UserError
from limelight.formats import read_pairs
from limelight.pipelines.load import load_translator
from limelight.preparation import replay
from limelight.preparation.replay import plan_replay, read_general
from limelight.storage.layout import ALIGNMENT, CONFIG, bundled_models
from limelight.storage.model import load_model
from limelight.storage.weights import named_weights, read_weights
from limelight.training import complete
from limelight.training import mix as mixing
from limelight.training.mix import BEFORE_AFTER
from limelight.training.run import train
from limelight.training.tasks.task import Validation
from tests.training.helpers import go, log_of, tiny_run, with_training, write_pairs

MODEL = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=12)


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of both directions."""
    folder = tmp_path_factory.mktemp("parent")
    config = tiny_run(folder / "text", MODEL, max_steps=6, bleu_sentences=0)
    data = {
        "train": (Corpus(files=(write_pairs(folder / "text/train.tsv", 200),), source="en", target="de"),),
        "both_directions": True,
    }
    go(config.model_copy(update={"data": config.data.model_copy(update=data)}), folder / "run")
    return folder / "run"


def tuned(parent: Path, folder: Path, count: int = 60, **data: object) -> RunConfig:
    """The configuration of a fine-tuned run on `count` new pairs."""
    folder.mkdir(exist_ok=True)
    new = Corpus(files=(write_pairs(folder / "new.tsv", count, first=1000),), source="en", target="de")
    config = tiny_run(folder / "text", MODEL, max_steps=4, average=1, bleu_sentences=20)
    return config.model_copy(
        update={"begin_with": str(parent), "data": DataConfig(**{"train": (new,), "replay": 1.0, **data})}
    )


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models of runs whose texts alone are looked at get no scores."""
    monkeypatch.setattr(mixing, "_best_share", lambda *_: 1.0)
    monkeypatch.setattr(mixing, "_scores", lambda *_: mixing.Scores(0.0, 0.0))


def sides(path: Path) -> set[tuple[str, str]]:
    return {(pair.source, pair.target) for pair in read_pairs([path])}


@pytest.mark.usefixtures("unmeasured")
def test_general_text_is_that_of_the_parent_in_all_its_directions(parent: Path, tmp_path: Path) -> None:
    config = tuned(parent, tmp_path)
    train(config, tmp_path / "run", quiet=True)
    theirs = sides(parent.parent / "text/train.tsv")
    unseen = sides(parent.parent / "text/valid.tsv")
    found = read_general(tmp_path / "run", "train")
    assert {str(direction) for direction in found} == {"en-de", "de-en"}
    for direction, pairs in found.items():
        here = {(pair.source, pair.target) for pair in pairs}
        turned = {(target, source) for source, target in here}
        assert (here if str(direction) == "en-de" else turned) <= theirs | unseen
        assert len(pairs) > 20
    replayed = {text for pairs in found.values() for pair in pairs for text in (pair.source, pair.target)}
    for role in ("valid", "test"):
        for pairs in read_general(tmp_path / "run", role).values():
            assert pairs
            assert not {text for pair in pairs for text in (pair.source, pair.target)} & replayed
    stored = load_config(tmp_path / "run/config.yaml").data
    assert [corpus.tag for corpus in stored.train] == ["", "replay", "replay"]
    assert stored.hold_out == 10


@pytest.mark.usefixtures("unmeasured")
def test_validation_text_may_be_held_out_of_the_new_text(parent: Path, tmp_path: Path) -> None:
    train(tuned(parent, tmp_path, hold_out=12), tmp_path / "run", quiet=True)
    assert load_config(tmp_path / "run/config.yaml").data.hold_out == 12


def test_a_start_again_has_the_bounds_of_the_first(parent: Path, tmp_path: Path) -> None:
    config = with_training(tuned(parent, tmp_path), max_steps=None)
    first = plan_replay(config, tmp_path / "run")
    assert first.training.max_steps
    assert not first.training.fit_to_budget, "as it was given"
    (tmp_path / "run").mkdir()
    (tmp_path / "run/config.yaml").write_text(dump_config(first), encoding="utf-8")
    assert plan_replay(config, tmp_path / "run").training == first.training


def test_only_text_without_a_tag_is_held_out_and_as_much_as_each_direction_has(parent: Path, tmp_path: Path) -> None:
    config = tuned(parent, tmp_path, count=170)
    (new,) = config.data.train
    turned = Corpus(files=(write_pairs(tmp_path / "few.tsv", 320, first=5000),), source="de", target="en")
    for others, held_out in (([turned], 10), ([new.model_copy(update={"tag": "bt"})], 10), ([], 10)):
        data = config.data.model_copy(update={"train": (new, *others)})
        assert plan_replay(config.model_copy(update={"data": data}), tmp_path / "run").data.hold_out == held_out
    back = config.data.model_copy(update={"train": (new.model_copy(update={"tag": "bt"}),)})
    assert plan_replay(config.model_copy(update={"data": back}), tmp_path / "run").data.hold_out == 0


@pytest.mark.parametrize(
    ("new", "general", "share"),
    [
        (lambda share: 2 - share, lambda share: 3 + 0.08 * share**2, 0.5),
        (lambda share: 2 - share, lambda share: 3 + 0.035 * share**2, 0.875),
        (lambda share: 2 + (share - 0.3) ** 2, lambda share: 3 - share, 0.25),
        (lambda share: 2 + share, lambda share: 3 - share, 0.0),
        (lambda share: 2 - share, lambda share: 3 + 0.3 * share, 0.0),
    ],
    ids=["half loses little", "more loses little", "less is better", "nothing gained", "too much lost"],
)
def test_the_share_is_the_best_of_those_that_lose_little(
    parent: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    new: Callable[[float], float],
    general: Callable[[float], float],
    share: float,
) -> None:
    shares: list[float] = []

    def mean(there: dict[str, torch.Tensor], trained: dict[str, torch.Tensor], share: float) -> dict[str, torch.Tensor]:
        shares.append(share)
        return {name: torch.lerp(there[name], tensor, share) for name, tensor in trained.items()}

    def measured(loss: Callable[[float], float]) -> dict[str, SimpleNamespace]:
        return {"": SimpleNamespace(measure=lambda *_: Validation(loss(shares[-1])))}

    texts = iter((measured(new), measured(general)))
    monkeypatch.setattr(mixing, "_mean", mean)
    monkeypatch.setattr(mixing, "valid_sets", lambda *_: next(texts))
    monkeypatch.setattr(mixing, "validate", lambda _: Validation(shares[-1]))
    monkeypatch.setattr(mixing, "_scores", lambda *_: mixing.Scores(0.0, 0.0))
    train(with_training(tuned(parent, tmp_path), learning_rate=1e-2, warmup=0), tmp_path / "run")
    weights, notes = read_weights(tmp_path / "run/best/model.safetensors")
    assert float(notes["share"]) == share
    theirs = named_weights(load_model(parent).model)
    same = [torch.equal(theirs[name], tensor) for name, tensor in weights.items()]
    assert all(same) == (share == 0.0)
    assert f"{share:.1%} of the weights" in notes["made_from"]
    assert float(notes["valid_loss"]) == share, "of the mean, and not of the trained weights"


def test_a_run_that_is_validated_by_loss_alone_is_chosen_and_compared(parent: Path, tmp_path: Path) -> None:
    train(with_training(tuned(parent, tmp_path), bleu_sentences=0), tmp_path / "run", quiet=True)
    assert (tmp_path / "run" / BEFORE_AFTER).is_file()


def test_what_was_interrupted_is_done_when_the_run_is_resumed(
    parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, real = tuned(parent, tmp_path), mixing._scores

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mixing, "_scores", fail)
    monkeypatch.setattr(complete, "MIN_ALIGNED", 1)
    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run" / BEFORE_AFTER).exists()
    chosen = read_weights(tmp_path / "run/best/model.safetensors")
    monkeypatch.setattr(mixing, "_scores", real)
    train(load_config(tmp_path / "run/config.yaml"), tmp_path / "run", quiet=True)
    content = json.loads((tmp_path / "run" / BEFORE_AFTER).read_text())
    assert content["share"] == float(chosen[1]["share"])
    assert content["general"]["pairs"] == sum(
        len(pairs) for role in ("valid", "test") for pairs in read_general(tmp_path / "run", role).values()
    )
    again = read_weights(tmp_path / "run/best/model.safetensors")
    assert all(torch.equal(again[0][name], tensor) for name, tensor in chosen[0].items())
    aligned = (tmp_path / "run/best" / ALIGNMENT).stat().st_mtime_ns
    train(load_config(tmp_path / "run/config.yaml"), tmp_path / "run", quiet=True)
    assert (tmp_path / "run/best" / ALIGNMENT).stat().st_mtime_ns == aligned, "what is there is not made again"


def test_an_extended_vocabulary_changes_nothing_until_it_is_trained(tmp_path: Path) -> None:
    """The start of a run with a new language and a new word: logits of the old tokens and greedy translations are those
    of the parent; and the run begins, mixes and is compared with it."""
    folder = tmp_path / "parent"
    go(tiny_run(folder, MODEL, max_steps=30, bleu_sentences=0), folder / "run")
    lines, draw = (folder / "train.tsv").read_text("utf-8").splitlines(), Random(1)
    new = tmp_path / "vanilla.tsv"
    new.write_text(
        "".join(f"Vanille {''.join(draw.sample('abcdefhilnorstuvwxz', 5))}\tVanille\n" for _ in lines), "utf-8"
    )
    corpora = [Corpus(files=(str(new),), source="en", target=target) for target in ("de", "es")]
    config = tuned(folder / "run", tmp_path, train=tuple(corpora), replay=0.0, drop_identical=False)
    with pytest.raises(UserError, match=r"no reserved token <2es>; --extend-vocabulary adds it"):
        train(config, tmp_path / "run", quiet=True)
    train(config.model_copy(update={"extend_vocabulary": True}), tmp_path / "run", quiet=True)
    before, start, after = (load_model(each) for each in (folder / "run", tmp_path / "run/start", tmp_path / "run"))
    old, new_tokens = before.tokenizers.source, start.tokenizers.source
    assert "<2es>" in new_tokens.pieces(range(old.padding, new_tokens.padding))
    assert log_of(tmp_path / "run")[0]["step"] > 0, "an untrained tag is no candidate for the model"
    assert len(new_tokens.encode("Vanille")) < len(old.encode("Vanille"))
    assert after.tokenizers.source.size == new_tokens.size
    sources = [line.split("\t")[0] for line in lines]
    sources = [each for each in sources if new_tokens.encode(each) == old.encode(each)]
    assert len(sources) > 3, "without new words"
    extended = load_translator(tmp_path / "run/start")
    extended.directions = ()  # its texts get no tag, as the parent knows none
    asked = {"beam_size": 1}
    found = [load_translator(folder / "run").translate(sources, **asked), extended.translate(sources, **asked)]
    assert [each.text for each in found[1]] == [each.text for each in found[0]]
    changed = named_weights(after.model)
    assert any(not torch.equal(tensor, changed[name]) for name, tensor in named_weights(start.model).items())


def test_a_vocabulary_that_cannot_grow_is_refused_by_name(parent: Path, tmp_path: Path) -> None:
    config = tuned(parent, tmp_path).model_copy(update={"extend_vocabulary": True, "begin_with": ""})
    with pytest.raises(UserError, match="give --from MODEL"):
        train(config, tmp_path / "run", quiet=True)
    folder = tmp_path / "characters"
    other = tiny_run(folder, MODEL, max_steps=1, bleu_sentences=0)
    characters = {"tokens": other.tokens.model_copy(update={"kind": "characters", "sampling": 0.0})}
    go(other.model_copy(update=characters), folder / "run")
    config = tuned(folder / "run", tmp_path, replay=0.0).model_copy(update={"extend_vocabulary": True, **characters})
    with pytest.raises(UserError, match=r"kind characters cannot be extended; .*leave --extend-vocabulary out"):
        train(config, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run/config.yaml").exists()


def test_a_variety_is_the_direction_of_the_parent() -> None:
    assert replay._is_only(Direction("en-US", "de-DE"), (Direction("en", "de"),))
    assert not replay._is_only(Direction("de", "en"), (Direction("en", "de"),))


def test_the_bundled_model_has_general_text_in_all_its_directions() -> None:
    (folder,) = bundled_models().values()
    for role, count in (("train", 1000), ("valid", 50), ("test", 50)):
        found = read_general(folder, role)
        assert set(found) == set(directions_of(load_config(folder / CONFIG).data))
        assert {len(pairs) for pairs in found.values()} == {count}


def test_without_any_measure_a_quarter_is_kept(parent: Path, tmp_path: Path) -> None:
    shutil.copytree(parent / "best", tmp_path / "alone")
    train(tuned(tmp_path / "alone", tmp_path, count=20), tmp_path / "run", quiet=True)
    assert float(read_weights(tmp_path / "run/best/model.safetensors")[1]["share"]) == 0.25
