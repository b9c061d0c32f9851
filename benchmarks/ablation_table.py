"""How much of a difference is chance, and the table."""

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.ablation_rows import ROWS, Row, config_of
from benchmarks.output import table
from limelight.config import RecurrentConfig, TransformerConfig

QUANTILES = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Of Student's t by degrees of freedom: 95 % of it lie between this and minus this."""
METRICS = {"PPL": ("perplexity", -1), "BLEU": ("bleu", 1)}
"""By its name in the table: the figure, and whether more of it is better."""
TITLES = {
    "base": "base", "A": "(A) heads, at equal cost", "B": "(B) key size", "C": "(C) depth and width",
    "D": "(D) dropout, label smoothing", "E": "(E) learned positions", "F": "not in the paper",
    "recurrent": "recurrent, dot", "score": "another score",
}  # fmt: skip
TRANSFORMER_HEAD = ("N", "d_model", "d_ff", "h", "d_k", "d_v", "P_drop", "smoothing", "else")
RECURRENT_HEAD = ("score",)
MEASURED_HEAD = ("PPL (val)", "BLEU (test)", "parameters, M", "target tokens/s", "more than chance")

IN_WORDS = {
    "sinusoidal": "sinusoids", "learned": "learned positions", "rotary": "rotary positions",
    "post": "norm after", "pre": "norm before",
    "three-way": "tied embeddings", "two-way": "two matrices", "none": "untied embeddings",
}  # fmt: skip

Results = Mapping[str, Mapping[str, Any]]


class Noise(NamedTuple):
    """What runs that differ in nothing but the seed come to."""

    mean: float
    deviation: float
    """Standard deviation of a single run."""
    margin: float
    """One more such run lies no farther than that from the mean, 95 times in 100."""


def noise_of(values: Sequence[float]) -> Noise | None:
    """From the values of at least two runs; None where there are fewer, and nothing can be said.

    The margin is `t s sqrt(1 + 1/n)`: the mean of few runs is itself uncertain, and so is their deviation.
    """
    if len(values) < 2:
        return None
    deviation = statistics.stdev(values)
    margin = QUANTILES[len(values) - 1] * deviation * math.sqrt(1 + 1 / len(values))
    return Noise(statistics.fmean(values), deviation, margin)


def noises(results: Results) -> dict[str, dict[str, Noise | None]]:
    """For each base and metric. Perplexities are compared as ratios: their noise is that of the logarithm."""
    return {
        base: {
            metric: noise_of([_scaled(metric, results[row.name]) for row in ROWS if _is_seed(row, base, results)])
            for metric in METRICS
        }
        for base in ("base", "recurrent")
    }


def _is_seed(row: Row, base: str, results: Results) -> bool:
    return row.group == base and row.name in results


def _scaled(metric: str, result: Mapping[str, Any]) -> float:
    value = float(result[METRICS[metric][0]])
    return math.log(value) if metric == "PPL" else value


def verdict(result: Mapping[str, Any], noise: Mapping[str, Noise | None]) -> str:
    """Which figures differ from those of the base by more than chance, and in which direction."""
    if any(found is None for found in noise.values()):
        return "?"
    found = {}
    for metric, margin in noise.items():
        assert margin is not None
        gain = METRICS[metric][1] * (_scaled(metric, result) - margin.mean)
        if abs(gain) > margin.margin:
            found[metric] = "better" if gain > 0 else "worse"
    if len(found) == len(METRICS) and len(set(found.values())) == 1:
        return f"both {found['PPL']}"
    return ", ".join(f"{metric} {what}" for metric, what in found.items()) or "no"


# --- the table ---


def tables(results: Results) -> str:
    """Two of them, as in the paper: a row shows the settings in which it differs from the base, and no others."""
    found = noises(results)
    parts = []
    for base, head in (("base", TRANSFORMER_HEAD), ("recurrent", RECURRENT_HEAD)):
        rows = [row for row in ROWS if row.base == base and row.name in results]
        lines = [*_base_line(rows, head, results), *_other_lines(rows, head, results, found[base])]
        parts += [table(["", *head, *MEASURED_HEAD], lines)] if lines else []
    return "\n\n".join(parts)


def _base_line(rows: Sequence[Row], head: Sequence[str], results: Results) -> list[list[object]]:
    """The mean over the seeds, with all settings."""
    seeds = [row for row in rows if row.group == row.base]
    if not seeds:
        return []
    settings = settings_of(seeds[0])
    measured = _measured([results[row.name] for row in seeds])
    return [[TITLES[seeds[0].group], *(settings[name] for name in head), *measured, f"{len(seeds)} seeds"]]


def _other_lines(
    rows: Sequence[Row], head: Sequence[str], results: Results, noise: Mapping[str, Noise | None]
) -> list[list[object]]:
    lines: list[list[object]] = []
    titled = ""
    for row in rows:
        if row.group == row.base:
            continue
        own, usual = settings_of(row), settings_of(row._replace(settings=()))
        shown = ["" if own[name] == usual[name] else own[name] for name in head]
        title = "" if row.group == titled else TITLES[row.group]
        titled = row.group
        result = results[row.name]
        lines.append([title, *shown, *_measured([result]), verdict(result, noise)])
    return lines


def settings_of(row: Row) -> dict[str, object]:
    """What stands in the columns of settings."""
    config = config_of(row, Path(), steps=1)
    model = config.model
    if isinstance(model, RecurrentConfig):
        return {"score": "none: one fixed vector" if model.wiring == "fixed" else model.score}
    assert isinstance(model, TransformerConfig)
    head_size = model.head_size or model.d_model // model.heads
    return {
        "N": model.encoder_layers,
        "d_model": model.d_model,
        "d_ff": model.d_ff,
        "h": model.heads,
        "d_k": head_size,
        "d_v": model.value_size or head_size,
        "P_drop": f"{model.dropout:g}",
        "smoothing": f"{config.training.label_smoothing:g}",
        "else": ", ".join(IN_WORDS[choice] for choice in (model.positions, model.norm, model.tie)),
    }


def _measured(results: Sequence[Mapping[str, Any]]) -> list[object]:
    """Means; of several runs with the standard deviation of a single one."""
    cells: list[object] = []
    for name in ("perplexity", "bleu"):
        values = [float(result[name]) for result in results]
        spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
        cells.append(f"{statistics.fmean(values):.2f}{spread}")
    speed = statistics.fmean(float(result["tokens_per_second"]) for result in results)
    return [*cells, f"{results[0]['parameters'] / 1e6:.2f}", f"{speed:,.0f}"]
