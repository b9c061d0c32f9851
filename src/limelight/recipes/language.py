"""Language models: text from text, with attention and without."""

from limelight.config import (
    BatchingConfig,
    DecoderOnlyConfig,
    RecurrentLanguageModelConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
)


def gpt_tiny() -> RunConfig:
    """The setting in which nanoGPT (Karpathy 2022) trains on a CPU: 4 layers, 4 heads, d=128, characters, blocks of 64,
    12 of them in a batch, 2,000 updates, no dropout. The rate is twice as high as there: measured to be better."""
    return RunConfig(
        recipe="gpt-tiny",
        tokens=TokensConfig(kind="characters"),
        batching=BatchingConfig(tokens=768, block=64),
        model=DecoderOnlyConfig(
            layers=4,
            d_model=128,
            heads=4,
            d_ff=512,
            activation="gelu",
            dropout=0.0,
            norm="pre",
            positions="learned",
            max_positions=64,
        ),
        training=TrainingConfig(
            max_steps=2000,
            schedule="cosine",
            learning_rate=2e-3,
            warmup=100,
            beta2=0.99,
            weight_decay=0.1,
            label_smoothing=0.0,
            validate_every=500,
            checkpoint_every=500,
            bleu_sentences=0,
            best_by="loss",
            average=1,
        ),
    )


def gpt_small() -> RunConfig:
    """Our own for a quarter of an hour on two cores and a megabyte of text; no paper, measured on tiny Shakespeare."""
    recipe = gpt_tiny()
    return recipe.model_copy(
        update={
            "recipe": "gpt-small",
            "batching": BatchingConfig(tokens=1536, block=256),
            "model": DecoderOnlyConfig(
                layers=4,
                d_model=192,
                heads=4,
                d_ff=768,
                activation="gelu",
                dropout=0.1,
                norm="pre",
                positions="rotary",
            ),
            "training": recipe.training.model_copy(
                update={
                    "max_steps": None,
                    "max_minutes": 15,
                    "fit_to_budget": True,
                    "optimizer": "muon",
                    "learning_rate": 3e-3,
                    "validate_every": 500,
                    "checkpoint_every": 500,
                }
            ),
        }
    )


def lstm_tiny() -> RunConfig:
    """What wrote text before attention did, beside `gpt-tiny`: two layers of LSTM with as many weights, the state
    carried from block to block (Karpathy 2015; Mikolov et al. 2010)."""
    recipe = gpt_tiny()
    return recipe.model_copy(
        update={
            "recipe": "lstm-tiny",
            "model": RecurrentLanguageModelConfig(cell="lstm", layers=2, embedding=128, hidden=232, dropout=0.0),
            "training": recipe.training.model_copy(update={"weight_decay": 0.0}),
        }
    )
