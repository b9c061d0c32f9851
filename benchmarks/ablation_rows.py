"""The rows of the table of ablations: what each of them changes, and nothing else."""

from pathlib import Path
from typing import NamedTuple

from limelight.config import (
    BatchingConfig,
    Corpus,
    DataConfig,
    DecodingConfig,
    RecurrentConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
    TransformerConfig,
    override,
)

TRANSFORMER = TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=128, heads=4, d_ff=512, dropout=0.1)
"""The paper's own choices (normalization after, one embedding for all), at a quarter of its width."""
RECURRENT = RecurrentConfig(
    cell="lstm", wiring="luong", score="dot", input_feeding=False, bidirectional=False,
    embedding=128, hidden=256, dropout=0.1,
)  # fmt: skip
"""Luong et al. 2015 without input feeding. One direction: all that a score compares is equally wide then, and the rows
differ in the score alone."""
TRAINING = TrainingConfig(
    schedule="cosine", learning_rate=3e-3, clip_norm=1.0, best_by="loss", bleu_sentences=0, average=1,
    checkpoint_every=200, log_every=50, device="cpu", threads=1,
)  # fmt: skip
WARMUP = 8
"""One part in so many of the updates."""


class Row(NamedTuple):
    """One run: what it is called, where it stands in the table, and what it changes."""

    name: str
    group: str
    settings: tuple[str, ...] = ()
    seed: int = 1

    @property
    def base(self) -> str:
        """The group of runs that it is compared with."""
        return "recurrent" if self.group in ("recurrent", "score") else "base"


ROWS = (
    *(Row(f"base-{seed}", "base", seed=seed) for seed in range(1, 6)),
    *(Row(f"heads-{heads}", "A", (f"model.heads={heads}",)) for heads in (1, 2, 8, 16)),
    *(Row(f"key-size-{size}", "B", (f"model.head_size={size}", "model.value_size=32")) for size in (8, 16)),
    *(Row(f"layers-{n}", "C", (f"model.encoder_layers={n}", f"model.decoder_layers={n}")) for n in (1, 4)),
    *(Row(f"d-model-{width}", "C", (f"model.d_model={width}",)) for width in (64, 256)),
    *(Row(f"d-ff-{width}", "C", (f"model.d_ff={width}",)) for width in (256, 1024)),
    *(Row(f"dropout-{share}", "D", (f"model.dropout={share}",)) for share in (0, 0.2)),
    *(Row(f"smoothing-{share}", "D", (f"training.label_smoothing={share}",)) for share in (0, 0.2)),
    Row("positions-learned", "E", ("model.positions=learned",)),
    Row("positions-rotary", "F", ("model.positions=rotary",)),
    Row("norm-first", "F", ("model.norm=pre",)),
    Row("norm-first-4", "F", ("model.norm=pre", "model.encoder_layers=4", "model.decoder_layers=4")),
    Row("two-way", "F", ("model.tie=two-way",)),
    Row("untied", "F", ("model.tie=none",)),
    *(Row(f"dot-{seed}", "recurrent", seed=seed) for seed in range(1, 4)),
    *(Row(score, "score", (f"model.score={score}",)) for score in ("scaled_dot", "general", "concat", "additive")),
    Row("no-attention", "score", ("model.wiring=fixed",)),
)
"""Groups A to E are the paper's (Vaswani et al. 2017, table 3); F goes on where it ended."""


def config_of(row: Row, data: Path, steps: int) -> RunConfig:
    """The whole run. All rows make the same updates of the same batches, but for those of another seed."""
    config = RunConfig(
        recipe=f"ablation {row.name}",
        data=DataConfig(train=multi30k(data, "train"), valid=multi30k(data, "val")),
        tokens=TokensConfig(kind="bpe", vocabulary_size=None, joint=True),
        batching=BatchingConfig(tokens=2048),
        model=RECURRENT if row.base == "recurrent" else TRANSFORMER,
        training=TRAINING,
        decoding=DecodingConfig(beam_size=4, length_penalty=0.6, prune=1000),
    )
    bounds = (
        f"training.max_steps={steps}", f"training.validate_every={steps}", f"training.warmup={steps // WARMUP}",
        f"training.seed={row.seed}",
    )  # fmt: skip
    return override(config, [*bounds, *row.settings])


def multi30k(data: Path, part: str) -> tuple[Corpus]:
    """A part of Multi30k, English to German."""
    return (Corpus(files=(str(data / f"{part}.en.gz"), str(data / f"{part}.de.gz")), source="en", target="de"),)
