"""Held-out text: chosen by its sources, alike at each start, and not in the training text."""

import random
from pathlib import Path

import numpy as np
import pytest

from limelight.batching.store import open_store
from limelight.config import Corpus, DataConfig, RunConfig, load_config
from limelight.errors import UserError
from limelight.preparation.hold_out import fold, is_held_out
from limelight.text.clean import CleanReport, clean
from limelight.text.pair import Pair
from limelight.training.run import train
from tests.preparation.parallel import invented_pairs
from tests.training.helpers import tiny_run, with_training

Sides = list[tuple[str, str]]


def write(path: Path, pairs: Sides) -> str:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return str(path)


def run_on(folder: Path, corpora: dict[tuple[str, str], Sides], count: int = 20, **data: object) -> RunConfig:
    folder.mkdir(exist_ok=True)
    config = tiny_run(folder, bleu_sentences=0, max_steps=1)
    train_corpora = tuple(
        Corpus(files=(write(folder / f"{source}-{target}.tsv", pairs),), source=source, target=target)
        for (source, target), pairs in corpora.items()
    )
    return config.model_copy(update={"data": DataConfig(**{"train": train_corpora, "hold_out": count, **data})})


def sides_of(path: Path) -> Sides:
    return [(line.split("\t")[0], line.split("\t")[1]) for line in path.read_text(encoding="utf-8").splitlines()]


def stored(run: Path, number: int = 0) -> Sides:
    store = open_store(run / "data" / f"train-{number}")
    return list(map(tuple, store.texts(np.arange(len(store)))))


@pytest.fixture(scope="module")
def pairs() -> Sides:
    """Some sources have several translations, some targets several sources, some differ in case alone."""
    found = invented_pairs(300, seed=8)
    found += [(source, other) for (source, _), (_, other) in zip(found[:40], found[40:80], strict=True)]
    found += [(source.upper(), target) for source, target in found[:20]]
    return found


@pytest.fixture(scope="module")
def begun(pairs: Sides, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, Path]:
    folder = tmp_path_factory.mktemp("held out")
    config = run_on(folder / "text", {("en", "de"): pairs})
    train(config, folder / "run", quiet=True)
    return config, folder / "run"


def test_no_held_out_text_is_in_the_training_text(begun: tuple[RunConfig, Path], pairs: Sides) -> None:
    _, run = begun
    valid, test = (sides_of(run / "held-out" / f"{role}.tsv") for role in ("valid", "test"))
    assert (len(valid), len(test)) == (20, 20)
    assert set(valid + test) <= set(pairs)
    held = {fold(text) for sides in valid + test for text in sides}
    assert len(held) == 80  # no source and no target twice, in either file
    kept = stored(run)
    assert not held & {fold(text) for sides in kept for text in sides}
    expected = {sides for sides in pairs if not held & {fold(text) for text in sides}}
    assert set(kept) == expected
    assert load_config(run / "config.yaml").data.valid[0].files == (str(run / "held-out" / "valid.tsv"),)


def test_the_choice_depends_on_the_seed_and_not_on_the_order(pairs: Sides, tmp_path: Path) -> None:
    some = list(dict(pairs).items())
    orders = some, random.Random(4).sample(some, len(some))
    sources = []
    for number, order in enumerate(orders):
        config = run_on(tmp_path / f"text{number}", {("en", "de"): order})
        train(config, tmp_path / f"run{number}", quiet=True)
        sources.append({source for source, _ in sides_of(tmp_path / f"run{number}/held-out/test.tsv")})
    assert sources[0] == sources[1]
    train(with_training(config, seed=7), tmp_path / "other", quiet=True)
    assert {source for source, _ in sides_of(tmp_path / "other/held-out/test.tsv")} != sources[0]


def test_a_resumed_run_keeps_its_held_out_text(begun: tuple[RunConfig, Path]) -> None:
    config, run = begun
    before = {path.name: path.read_bytes() for path in (run / "held-out").iterdir()}
    for again in (config, load_config(run / "config.yaml")):
        assert train(with_training(again, max_steps=2), run, quiet=True).step == 2
    assert {path.name: path.read_bytes() for path in (run / "held-out").iterdir()} == before
    with pytest.raises(UserError, match=r"data\.hold_out is 20 there, 10 here"):
        train(config.model_copy(update={"data": config.data.model_copy(update={"hold_out": 10})}), run, quiet=True)


def test_several_directions_have_a_file_each_and_share_their_sources(tmp_path: Path) -> None:
    sides = list(dict(invented_pairs(300, seed=8)).items())
    french = [(source, f"le {target}") for source, target in sides]
    config = run_on(tmp_path / "text", {("en", "de"): sides, ("en", "fr"): french}, count=15)
    train(config, tmp_path / "run", quiet=True)
    folder = tmp_path / "run" / "held-out"
    sources = {
        (role, each): {source for source, _ in sides_of(folder / f"{role}.{each}.tsv")}
        for role in ("valid", "test")
        for each in ("en-de", "en-fr")
    }
    assert all(len(each) == 15 for each in sources.values())
    assert not sources["valid", "en-de"] & sources["test", "en-fr"]
    everything = set().union(*sources.values())
    for number in range(2):
        assert not everything & {source for source, _ in stored(tmp_path / "run", number)}


def test_too_little_text_is_refused(tmp_path: Path) -> None:
    config = run_on(tmp_path / "text", {("en", "de"): invented_pairs(100, seed=8)}, count=30)
    with pytest.raises(
        UserError, match=r"--hold-out 30: the training text of en-de has \d+ pairs, of which at most \d+ can"
    ):
        train(config, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run" / "config.yaml").exists()


def test_pairs_are_left_out_for_either_side() -> None:
    from limelight.preparation.hold_out import text_hash

    texts = frozenset({text_hash("A dog  runs.")})
    pairs = [Pair("a dog runs.", "x", "f", 1), Pair("b", "A dog runs.", "f", 2), Pair("c", "d", "f", 3)]
    report = CleanReport()
    settings = {"max_characters": 99, "max_length_ratio": 99.0, "drop_duplicates": True, "drop_identical": True}
    kept = list(clean(pairs, report, is_held_out=lambda pair: is_held_out(pair, texts), **settings))  # type: ignore[arg-type]
    assert [pair.line for pair in kept] == [3]
    assert report.dropped["held_out"] == 2
