"""Fine-tuning: training a model on with other text, gently enough that it keeps what it knows."""

from limelight.config import RunConfig, TrainingConfig

RATE, RATE_WIDTH = 3e-4, 256
"""Learning rate of a model of this width. Others get one in inverse proportion to their width, as hidden weights under
Adam want it (Yang et al. 2022, "Tensor Programs V", table 3)."""

MAX_RATE = 1e-3

SAMPLED = ("bpe", "unigram")
"""Kinds of vocabulary that can segment a text in several ways."""


def finetune(parent: RunConfig | None = None) -> RunConfig:
    """The model, vocabulary and search settings of `parent`, and a small rate; no paper, measured on captions after
    everyday sentences (docs/training.md).

    Without a parent the model is the base of Vaswani et al. 2017, which fits few models: the command line always passes
    the one of `--from`.
    """
    parent = parent or RunConfig()
    learns_from = parent.model.learns_from
    translates = "pairs" in learns_from
    tokens = parent.batching.tokens * parent.training.accumulate
    return RunConfig(
        recipe="finetune",
        tokens=parent.tokens,
        batching=parent.batching.model_copy(update={"tokens": min(tokens, 4096)}),
        model=parent.model,
        training=TrainingConfig(
            schedule="inverse_sqrt",
            learning_rate=min(MAX_RATE, float(f"{RATE * RATE_WIDTH / parent.model.width:.1e}")),
            warmup=100,
            label_smoothing=0.1 if translates else 0.0,
            validate_every=100,
            checkpoint_every=500,
            bleu_sentences=500 if translates else 0,
            best_by="bleu" if translates else "macro_f1" if "labels" in learns_from else "loss",
            patience=10,
            average=1,
        ),
        decoding=parent.decoding,
    )
