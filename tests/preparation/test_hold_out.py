"""Held-out text: chosen by its sources, alike at each start, and not in the training text."""

import random
from pathlib import Path

import pytest

from limelight.config import Corpus, DataConfig, RunConfig, load_config
from limelight.errors import UserError
from limelight.preparation.hold_out import make_hold_out, plan_hold_out
from limelight.preparation.pairs import cleaned
from limelight.text.pair import fold
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


def held_out(config: RunConfig, run: Path) -> RunConfig:
    """The configuration of a run whose held-out text has been written."""
    config = plan_hold_out(config, run)
    whole = config.data.model_copy(update={"hold_out": 0})
    make_hold_out(config, run, lambda corpus: cleaned(whole, [corpus]), lambda line: None)
    return config


def trained_on(config: RunConfig) -> Sides:
    return [(pair.source, pair.target) for pair in cleaned(config.data, config.data.train)]


@pytest.fixture(scope="module")
def pairs() -> Sides:
    """Some sources have several translations, some targets several sources, some differ in case alone."""
    found = invented_pairs(300, seed=8)
    found += [(source, other) for (source, _), (_, other) in zip(found[:40], found[40:80], strict=True)]
    found += [(source.upper(), target) for source, target in found[:20]]
    return found


def test_no_held_out_text_is_in_the_training_text(pairs: Sides, tmp_path: Path) -> None:
    run = tmp_path / "run"
    config = held_out(run_on(tmp_path / "text", {("en", "de"): pairs}), run)
    valid, test = (sides_of(run / "held-out" / f"{role}.tsv") for role in ("valid", "test"))
    assert (len(valid), len(test)) == (20, 20)
    assert set(valid + test) <= set(pairs)
    held = {fold(text) for sides in valid + test for text in sides}
    assert len(held) == 80  # no source and no target twice, in either file
    expected = {sides for sides in pairs if not held & {fold(text) for text in sides}}
    assert set(trained_on(config)) == expected
    assert config.data.valid[0].files == (str(run / "held-out" / "valid.tsv"),)


def test_the_choice_depends_on_the_seed_and_not_on_the_order(pairs: Sides, tmp_path: Path) -> None:
    some = list(dict(pairs).items())
    orders = some, random.Random(4).sample(some, len(some))
    sources = []
    for number, seed in ((0, 1), (1, 1), (0, 7)):
        config = run_on(tmp_path / f"text{number}", {("en", "de"): orders[number]})
        held_out(with_training(config, seed=seed), tmp_path / f"run{number}{seed}")
        sources.append({source for source, _ in sides_of(tmp_path / f"run{number}{seed}/held-out/test.tsv")})
    assert sources[0] == sources[1] != sources[2]


def test_a_resumed_run_keeps_its_held_out_text(pairs: Sides, tmp_path: Path) -> None:
    config, run = run_on(tmp_path / "text", {("en", "de"): pairs}), tmp_path / "run"
    train(config, run, quiet=True)
    before = {path.name: path.read_bytes() for path in (run / "held-out").iterdir()}
    for again in (config, load_config(run / "config.yaml")):
        assert train(with_training(again, max_steps=2), run, quiet=True).step == 2
    assert {path.name: path.read_bytes() for path in (run / "held-out").iterdir()} == before
    new = load_config(run / "config.yaml")  # as `limelight train --config RUN/config.yaml --out NEW`
    train(new, tmp_path / "new", quiet=True)
    assert {path.name: path.read_bytes() for path in (tmp_path / "new/held-out").iterdir()} == before
    with pytest.raises(UserError, match=r"data\.hold_out is 20 there, 10 here"):
        train(config.model_copy(update={"data": config.data.model_copy(update={"hold_out": 10})}), run, quiet=True)


def test_several_directions_have_a_file_each_and_share_their_sources(tmp_path: Path) -> None:
    sides = list(dict(invented_pairs(300, seed=8)).items())
    french = [(source, f"le {target}") for source, target in sides]
    config = held_out(run_on(tmp_path / "text", {("en", "de"): sides, ("en", "fr"): french}, count=15), tmp_path)
    sources = {
        (role, each): {source for source, _ in sides_of(tmp_path / "held-out" / f"{role}.{each}.tsv")}
        for role in ("valid", "test")
        for each in ("en-de", "en-fr")
    }
    assert all(len(each) == 15 for each in sources.values())
    assert not sources["valid", "en-de"] & sources["test", "en-fr"]
    assert not set().union(*sources.values()) & {source for source, _ in trained_on(config)}


@pytest.mark.parametrize("data", [{"both_directions": True}, {"inherited": (("en", "de"), ("de", "en"))}])
def test_the_command_for_the_tests_names_the_direction_if_the_model_has_several(
    data: dict[str, object], pairs: Sides, tmp_path: Path
) -> None:
    config = plan_hold_out(run_on(tmp_path / "text", {("en", "de"): pairs}, count=20, **data), tmp_path / "run")
    whole, said = config.data.model_copy(update={"hold_out": 0}), list[str]()
    make_hold_out(config, tmp_path / "run", lambda corpus: cleaned(whole, [corpus]), said.append)
    assert f" --test en-de={tmp_path}" in said[0]


def test_too_little_text_is_refused(tmp_path: Path) -> None:
    config = run_on(tmp_path / "text", {("en", "de"): invented_pairs(100, seed=8)}, count=30)
    with pytest.raises(
        UserError, match=r"--hold-out 30: the training text of en-de has \d+ pairs, of which at most \d+ can"
    ):
        held_out(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_other_validation_text_is_refused(pairs: Sides, tmp_path: Path) -> None:
    config = run_on(tmp_path / "text", {("en", "de"): pairs})
    own = (Corpus(files=("data/held-out/dev.tsv",), source="en", target="de"),)
    with pytest.raises(UserError, match="--valid and --hold-out"):
        plan_hold_out(
            config.model_copy(update={"data": config.data.model_copy(update={"valid": own})}), tmp_path / "run"
        )


def test_back_translated_text_alone_has_nothing_to_hold_out(pairs: Sides, tmp_path: Path) -> None:
    config = run_on(tmp_path / "text", {("en", "de"): pairs})
    back = tuple(corpus.model_copy(update={"tag": "bt"}) for corpus in config.data.train)
    with pytest.raises(UserError, match="--hold-out takes pairs of sentences out of --train"):
        plan_hold_out(
            config.model_copy(update={"data": config.data.model_copy(update={"train": back})}), tmp_path / "run"
        )
