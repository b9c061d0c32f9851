"""The ablations: rows that change one thing, a budget that is the same for all, runs that are not made twice."""

import gzip
import json
from pathlib import Path

import pytest
import typer

from benchmarks import ablation_rows, ablations
from benchmarks.ablation_rows import ROWS, Row, config_of
from benchmarks.run_all import NEEDED, Step
from limelight.config import RecurrentConfig, TransformerConfig
from limelight.models.families import build_model, count_parameters
from limelight.preparation.pairs import prepare
from limelight.tokens import Tokenizers
from tests.training.helpers import write_pairs

SMALL = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=16, heads=4, d_ff=11)
CELLS = RecurrentConfig(
    cell="lstm", wiring="luong", score="dot", input_feeding=False, bidirectional=False, embedding=7, hidden=8
)
BY_NAME = {row.name: row for row in ROWS}


class Pieces:
    size, padding = 41, 40


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Every part of Multi30k, of generated pairs."""
    folder = tmp_path / "data"
    folder.mkdir()
    for number, part in enumerate(NEEDED):
        text = Path(write_pairs(tmp_path / "both.tsv", 307 if part == "train" else 11, first=1000 * number))
        sides = zip(*(line.split("\t") for line in text.read_text(encoding="utf-8").splitlines()), strict=True)
        for side, lines in zip(("en", "de"), sides, strict=True):
            (folder / f"{part}.{side}.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablation_rows, "TRANSFORMER", SMALL)
    monkeypatch.setattr(ablation_rows, "RECURRENT", CELLS)
    monkeypatch.setattr(ablations, "TRIAL", 2)
    monkeypatch.setattr(ablations, "WARM", 1)


# --- the rows ---


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_differs_from_its_base_in_what_it_says_and_can_be_built(row: Row) -> None:
    own = config_of(row, Path("data"), 1200).model_dump(mode="json")
    usual = config_of(row._replace(settings=()), Path("data"), 1200).model_dump(mode="json")
    changed = {
        f"{section}.{name}"
        for section in ("model", "training", "tokens", "batching")
        for name in own[section]
        if own[section][name] != usual[section][name]
    }
    assert changed == {setting.partition("=")[0] for setting in row.settings}
    build_model(config_of(row, Path("data"), 1200).model, Tokenizers(*[Pieces()] * 2))


def test_names_are_folders_of_their_own_and_every_base_has_three_seeds() -> None:
    assert len(BY_NAME) == len(ROWS)
    for base in ("base", "recurrent"):
        seeds = [row.seed for row in ROWS if row.group == base]
        assert len(set(seeds)) == len(seeds) >= 3
        assert not any(row.settings for row in ROWS if row.group == base)
    assert {row.seed for row in ROWS if row.group not in ("base", "recurrent")} == {1}


def test_more_heads_cost_nothing() -> None:
    rows = [row for row in ROWS if row.group in ("A", "base")]
    sizes = {
        count_parameters(build_model(config_of(row, Path("data"), 9).model, Tokenizers(*[Pieces()] * 2)))
        for row in rows
    }
    assert len(rows) == 9
    assert len(sizes) == 1


def test_another_seed_learns_the_same_vocabulary_and_so_perplexities_can_be_compared(
    data: Path, tmp_path: Path, small: None
) -> None:
    found = [
        prepare(config_of(BY_NAME[f"base-{seed}"], data, 8), tmp_path / f"{seed}", lambda _: None).tokenizers.target
        for seed in (1, 2)
    ]
    assert found[0].size == found[1].size
    assert found[0].pieces(range(found[0].size)) == found[1].pieces(range(found[1].size))


# --- the command ---


@pytest.mark.slow
def test_a_row_leaves_its_figures_and_goes_on_where_it_was(
    data: Path, tmp_path: Path, small: None, capsys: pytest.CaptureFixture[str]
) -> None:
    for row in ("heads-2", "scaled_dot"):
        ablations.main(data, tmp_path / "out", steps=4, alone=row)
    found = dict(ablations.stored_rows(tmp_path / "out"))
    assert list(found) == ["heads-2", "scaled_dot"]
    for result in found.values():
        assert result["updates"] == 4
        assert 1 < result["perplexity"] < 10_000
        assert result["tokens_per_second"] > 0
        assert result["bleu_signature"].startswith("nrefs:1")
    assert found["heads-2"]["target_pieces"] == found["scaled_dot"]["target_pieces"]  # the same batches
    before = (tmp_path / "out" / "heads-2" / "log.jsonl").read_text(encoding="utf-8")
    (tmp_path / "out" / "heads-2" / "row.json").unlink()
    ablations.main(data, tmp_path / "out", steps=4, alone="heads-2")
    assert (tmp_path / "out" / "heads-2" / "log.jsonl").read_text(encoding="utf-8") == before
    again = dict(ablations.stored_rows(tmp_path / "out"))["heads-2"]
    assert {**again, "tokens_per_second": 0} == {**found["heads-2"], "tokens_per_second": 0}


def test_only_what_is_left_is_run_and_what_fails_is_told(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    asked: list[list[str]] = []

    def work(step: Step, log: Path) -> str:
        asked.append(step.words)
        if step.title == "heads-2":
            return f"failed: no room; see {log}"
        write_row(out, step.title)
        return ""

    write_row(out, "base-1")
    monkeypatch.setattr(ablations, "work", work)
    monkeypatch.setattr(ablations, "AROUND", 20)
    monkeypatch.setattr(ablations, "trial", lambda rows, data: {row.name: 0.5 for row in rows})
    rows = ["dropout-0", "heads-2", "base-1", "base-2"]
    with pytest.raises(typer.Exit):
        ablations.main(data, out, rows=rows, steps=120, workers=1, results=tmp_path)
    assert [words[-1] for words in asked] == ["base-2", "heads-2", "dropout-0"]
    assert asked[0] == ["benchmarks.ablations", str(data), "--out", str(out), "--steps", "120", "--alone", "base-2"]
    said = capsys.readouterr().out
    assert said.startswith("3 of 4 rows, 120 updates each: about 4 minutes\n")
    assert "heads-2: failed: no room; see" in said
    stored = json.loads((tmp_path / "ablations.json").read_text(encoding="utf-8"))
    assert list(stored["rows"]) == ["base-1", "base-2", "dropout-0"]
    assert list(stored["failed"]) == ["heads-2"]
    assert stored["noise"]["base"]["BLEU"]["deviation"] == 0
    assert (out / "table.md").read_text(encoding="utf-8") == stored["table"] + "\n"
    asked.clear()
    with pytest.raises(typer.Exit):
        ablations.main(data, out, rows=rows, steps=0, workers=1, results=tmp_path)
    assert [words[-3:] for words in asked] == [["120", "--alone", "heads-2"]]


def write_row(out: Path, name: str) -> None:
    (out / name).mkdir(parents=True, exist_ok=True)
    result = {"perplexity": 8.0, "bleu": 20.0, "parameters": 1_437_824, "tokens_per_second": 12_345.6}
    (out / name / "row.json").write_text(json.dumps(result), encoding="utf-8")


def test_ctrl_c_begins_no_other_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []

    def work(step: Step, log: Path) -> str:
        begun.append(step.title)
        raise KeyboardInterrupt

    monkeypatch.setattr(ablations, "work", work)
    jobs = {row: Step(row.name, [], 1) for row in ROWS}
    with pytest.raises(KeyboardInterrupt):
        ablations.run_rows(jobs, tmp_path, workers=1)
    assert len(begun) < len(ROWS)


def test_all_rows_of_a_folder_have_one_budget(tmp_path: Path) -> None:
    assert ablations.settle_steps(tmp_path, 0, 700) == 700
    assert ablations.settle_steps(tmp_path, 0, 300) == 700
    assert ablations.settle_steps(tmp_path, 700, 0) == 700
    with pytest.raises(typer.BadParameter, match="make 700 updates, not 800: leave --steps out"):
        ablations.settle_steps(tmp_path, 800, 0)
    (tmp_path / "other").mkdir()
    assert ablations.settle_steps(tmp_path / "other", 0, 0) == ablations.STEPS


def test_updates_fill_the_minutes() -> None:
    rows, costs = ROWS[:4], {row.name: 0.1 for row in ROWS}
    steps = ablations.updates_within(10, rows, costs, 2)
    taken = (steps * 0.4 + len(rows) * ablations.AROUND) / 2 / 60
    assert 9.5 < taken <= 10
    assert steps % 100 == 0
    assert ablations.updates_within(0.1, rows, costs, 2) == 100
    assert ablations.updates_within(0, rows, costs, 2) == 0


def test_an_unknown_row_is_told_with_those_there_are() -> None:
    with pytest.raises(typer.BadParameter, match="heads-3: the rows are base-1, base-2"):
        ablations.chosen(["heads-3", "base-1"])


def test_the_trial_gives_a_cost_for_each_row(data: Path, small: None) -> None:
    rows = [BY_NAME[name] for name in ("base-1", "d-model-256", "no-attention")]
    costs = ablations.trial(rows, data)
    assert set(costs) == {row.name for row in rows}
    assert 0 < costs["base-1"] < costs["d-model-256"]


def test_what_is_only_looked_up_costs_nothing(data: Path, tmp_path: Path, small: None) -> None:
    prepared = prepare(config_of(BY_NAME["base-1"], data, 8), tmp_path / "run", lambda _: None)
    found = {
        name: ablations.multiplied(config_of(BY_NAME[name], data, 8), prepared)
        for name in ("base-1", "two-way", "untied", "norm-first")
    }
    assert found["base-1"] == found["two-way"]
    assert abs(found["untied"] - found["base-1"]) <= SMALL.d_model  # an output matrix has no row for padding
    assert 0 < found["norm-first"] - found["base-1"] <= 4 * SMALL.d_model  # the last normalization
