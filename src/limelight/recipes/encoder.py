"""Encoders alone: tokens guessed from what stands around them, and labels for texts. Sized for two cores."""

from limelight.config import BatchingConfig, EncoderOnlyConfig, RunConfig, TokensConfig, TrainingConfig


def bert_tiny() -> RunConfig:
    """Devlin et al. 2019 in the size of BERT-Tiny (Turc et al. 2019, table 1): 2 layers, 2 heads, d=128; 15 % of the
    tokens chosen, GELU, dropout 0.1, weight decay 0.01.

    Our own are normalization first, sinusoids and a high rate, for minutes instead of days, and rows that are lines.
    """
    return RunConfig(
        recipe="bert-tiny",
        tokens=TokensConfig(kind="wordpiece"),
        batching=BatchingConfig(tokens=4096, max_length=256),
        model=EncoderOnlyConfig(layers=2, d_model=128, heads=2, d_ff=512, activation="gelu", dropout=0.1, norm="pre"),
        training=TrainingConfig(
            max_minutes=10,
            fit_to_budget=True,
            schedule="cosine",
            learning_rate=3e-3,
            warmup=200,
            weight_decay=0.01,
            label_smoothing=0.0,
            validate_epochs=2.5,
            checkpoint_every=500,
            bleu_sentences=0,
            best_by="loss",
            average=1,
        ),
    )


def classifier() -> RunConfig:
    """The same encoder with labels for texts; no paper, our own for some thousand texts.

    It may begin with a `bert-tiny` (`--from`), whose encoder fits. Small batches, and a rate that falls over a few
    epochs: labels are overfitted soon.
    """
    recipe = bert_tiny()
    return recipe.model_copy(
        update={
            "recipe": "classifier",
            "batching": BatchingConfig(tokens=2048, max_length=256),
            "training": recipe.training.model_copy(
                update={
                    "max_minutes": 5,
                    "warmup": 100,
                    "validate_epochs": 1.0,
                    "best_by": "macro_f1",
                }
            ),
        }
    )
