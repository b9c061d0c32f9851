"""The table of ablations: what is chance is called so, and a row shows what it changes."""

import math
import statistics
from random import Random

import pytest

from benchmarks.ablation_rows import ROWS
from benchmarks.ablation_table import QUANTILES, noise_of, noises, settings_of, tables, verdict


def result(perplexity: float = 8.0, bleu: float = 20.0) -> dict[str, float]:
    return {"perplexity": perplexity, "bleu": bleu, "parameters": 1_437_824, "tokens_per_second": 12_345.6}


SEEDS = {f"base-{seed}": result(8 + seed / 100, 20 + seed / 10) for seed in range(1, 6)}


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_one_more_run_lies_within_the_margin_95_times_in_100(runs: int, seed: int) -> None:
    """Drawn from a normal distribution, whose mean and deviation the margin does not know."""
    random = Random(seed)
    within = 0
    for _ in range(4000):
        noise = noise_of([random.gauss(31, 7) for _ in range(runs)])
        assert noise is not None
        within += abs(random.gauss(31, 7) - noise.mean) <= noise.margin
    assert 0.93 < within / 4000 < 0.97


def test_nothing_can_be_said_from_one_run() -> None:
    assert noise_of([3.0]) is None
    found = noises({"base-1": result()})
    assert verdict(result(), found["base"]) == "?"


def test_quantiles_are_those_of_student() -> None:
    """The density of t, summed up numerically."""
    for freedom, quantile in QUANTILES.items():
        power = -(freedom + 1) / 2
        scale = math.gamma(-power) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)
        width = quantile / 20_000
        places = [width * (number + 0.5) for number in range(20_000)]
        inside = 2 * width * math.fsum(scale * (1 + place * place / freedom) ** power for place in places)
        assert inside == pytest.approx(0.95, abs=2e-4)


def test_verdicts_know_which_way_is_better() -> None:
    noise = noises(SEEDS)["base"]
    assert verdict(result(8.03, 20.3), noise) == "no"
    assert verdict(result(9.0, 20.3), noise) == "PPL worse"
    assert verdict(result(7.0, 20.3), noise) == "PPL better"
    assert verdict(result(8.03, 30.0), noise) == "BLEU better"
    assert verdict(result(9.0, 10.0), noise) == "both worse"
    assert verdict(result(7.0, 10.0), noise) == "PPL better, BLEU worse"


def test_perplexities_are_compared_as_ratios() -> None:
    noise = noises(SEEDS)["base"]["PPL"]
    assert noise is not None
    assert noise.mean == pytest.approx(statistics.fmean(math.log(each["perplexity"]) for each in SEEDS.values()))


def test_a_row_shows_what_it_changes_and_the_base_everything() -> None:
    found = {
        **SEEDS,
        "heads-2": result(8.9),
        "heads-16": result(),
        "key-size-16": result(),
        "layers-1": result(),
        "smoothing-0": result(),
    }
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in tables(found).splitlines()]
    head, _, base, two, sixteen, keys, layers, smoothing = lines
    assert base[1:9] == ["2", "128", "512", "4", "32", "32", "0.1", "0.1"]
    assert base[9].startswith("sinusoids, norm after")
    assert base[10:] == ["8.03 ± 0.02", "20.30 ± 0.16", "1.44", "12,346", "5 seeds"]
    assert two == [
        "(A) heads, at equal cost",
        "",
        "",
        "",
        "2",
        "64",
        "64",
        "",
        "",
        "",
        "8.90",
        *two[11:13],
        "12,346",
        two[14],
    ]
    assert two[14] == "PPL worse"
    assert sixteen[:7] == ["", "", "", "", "16", "8", "8"]
    assert keys[:10] == ["(B) key size", "", "", "", "", "16", "", "", "", ""]
    assert [name for name, cell in zip(head, layers, strict=True) if cell][:3] == ["", "N", "PPL (val)"]
    assert layers[1] == "1"
    assert smoothing[8] == "0"


def test_the_recurrent_rows_have_a_table_and_a_base_of_their_own() -> None:
    seeds = {f"dot-{seed}": result(9 + seed / 100, 15 + seed / 10) for seed in range(1, 4)}
    shown = tables({**SEEDS, **seeds, "additive": result(7.0, 18.0), "no-attention": result(15.0, 9.0)})
    transformer, recurrent = shown.split("\n\n")
    assert len(transformer.splitlines()) == 3
    assert [line.split("|")[2].strip() for line in recurrent.splitlines()[2:]] == [
        "dot", "additive", "none: one fixed vector",
    ]  # fmt: skip
    assert "both better" in recurrent
    assert "both worse" in recurrent


def test_every_row_has_its_line() -> None:
    shown = tables({row.name: result() for row in ROWS})
    seeds = sum(row.group == row.base for row in ROWS)
    assert len(shown.splitlines()) == len(ROWS) - seeds + 2 + 2 * 2 + 1


def test_no_two_rows_look_alike() -> None:
    shown = [tuple(settings_of(row).items()) for row in ROWS if row.group != row.base]
    assert len(set(shown)) == len(shown)
