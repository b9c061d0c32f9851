"""The recipes: functions that return a complete configuration, each with its paper and table."""

from typing import Any

from limelight.config import (
    BatchingConfig,
    DataConfig,
    DecoderOnlyConfig,
    DecodingConfig,
    EncoderOnlyConfig,
    RecurrentConfig,
    RecurrentLanguageModelConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
    TransformerConfig,
)


def _changed(recipe: RunConfig, name: str, **sections: Any) -> RunConfig:
    """A recipe with other sections, or with other values (a dictionary) in some of them."""
    update = {
        section: getattr(recipe, section).model_copy(update=values) if isinstance(values, dict) else values
        for section, values in sections.items()
    }
    return recipe.model_copy(update={"recipe": name, **update})


def base() -> RunConfig:
    """Vaswani et al. 2017, table 3, row "base": 65 M parameters, 100,000 updates of about 25,000 target tokens.

    Learning rate, smoothing, averaging of the last five checkpoints and beam follow sections 5.3, 5.4 and 6.1.
    """
    return RunConfig(
        recipe="base",
        tokens=TokensConfig(kind="bpe", vocabulary_size=37_000, joint=True),
        batching=BatchingConfig(tokens=25_000),
        model=TransformerConfig(),
        training=TrainingConfig(
            max_steps=100_000,
            schedule="paper",
            learning_rate=1.0,
            warmup=4000,
            clip_norm=0.0,
            validate_every=1500,
            checkpoint_every=1500,
            patience=1000,
            average=5,
        ),
        # The paper has neither pruning nor an end by patience: large values switch both off.
        decoding=DecodingConfig(
            beam_size=4, length_penalty=0.6, patience=1000.0, prune=1000.0, max_length_factor=1.0, max_length_extra=50
        ),
    )


def big() -> RunConfig:
    """Vaswani et al. 2017, table 3, row "big": 213 M parameters, 300,000 updates, the last 20 checkpoints averaged."""
    return _changed(
        base(),
        "big",
        model={"d_model": 1024, "heads": 16, "d_ff": 4096, "dropout": 0.3},
        training={"max_steps": 300_000, "average": 20},
    )


def tiny() -> RunConfig:
    """Wu et al. 2021 ("Good for Misconceived Reasons"), "Transformer-Tiny" for Multi30k: 4 + 4 layers, d=128, d_ff=256,
    4 heads, dropout 0.3, rate 0.005 after 2,000 updates, the last ten checkpoints averaged, beam 5. The length penalty
    is that of fairseq, which ranks by the mean log-probability."""
    return RunConfig(
        recipe="tiny",
        tokens=TokensConfig(kind="bpe", joint=True),
        batching=BatchingConfig(tokens=8192),
        model=TransformerConfig(encoder_layers=4, decoder_layers=4, d_model=128, heads=4, d_ff=256, dropout=0.3),
        training=TrainingConfig(
            max_steps=8000,
            schedule="inverse_sqrt",
            learning_rate=5e-3,
            warmup=2000,
            clip_norm=0.0,
            checkpoint_every=500,
            average=10,
        ),
        decoding=DecodingConfig(beam_size=5, length_penalty=1.0, length_offset=0.0),
    )


def small() -> RunConfig:
    """Our default for ten thousand to a million pairs on a CPU: 3 + 3 layers, d=256.

    Pre-norm (Xiong et al. 2020), which allows a high learning rate after a short warm-up; strong dropout and
    BPE-dropout (Provilkov et al. 2020) for small corpora. Hypotheses are ranked by their mean log-probability, as such
    models tend to end early (`docs/translation.md`).
    """
    return RunConfig(
        recipe="small",
        tokens=TokensConfig(kind="bpe", joint=True, sampling=0.05),
        batching=BatchingConfig(tokens=4096),
        model=TransformerConfig(
            encoder_layers=3, decoder_layers=3, d_model=256, heads=4, d_ff=1024, dropout=0.3, norm="pre"
        ),
        training=TrainingConfig(
            schedule="inverse_sqrt",
            learning_rate=2e-3,
            warmup=1000,
            validate_epochs=1.5,
            checkpoint_every=500,
            average=8,
        ),
        decoding=DecodingConfig(beam_size=5, length_penalty=1.0, length_offset=0.0),
    )


def quick() -> RunConfig:
    """Our own for a few minutes on a CPU and some ten thousand pairs; no paper, measured on Multi30k.

    In so short a time the text is seen six times: little dropout, no subword sampling, orthogonal steps (Jordan et al.
    2024), which need fewer updates than Adam, and a learning rate that falls to zero within the time budget.
    """
    return _changed(
        small(),
        "quick",
        tokens={"sampling": 0.0},
        batching={"tokens": 2048},
        model={"dropout": 0.1},
        training=TrainingConfig(
            max_minutes=7,
            fit_to_budget=True,
            schedule="cosine",
            optimizer="muon",
            learning_rate=3e-3,
            warmup=100,
            validate_epochs=2,
            checkpoint_every=400,
            bleu_sentences=200,
            average=1,
        ),
    )


def _deep(encoder_layers: int, decoder_layers: int) -> RunConfig:
    """A deep encoder runs once per sentence, a shallow decoder at every step (Kasai et al. 2021): as good as stacks of
    equal depth, and faster. Rotary positions (Su et al. 2021), orthogonal steps (Jordan et al. 2024), one matrix for
    all embeddings; the combination is from no paper, measured on Tatoeba (docs/results.md)."""
    layers = {"encoder_layers": encoder_layers, "decoder_layers": decoder_layers}
    return _changed(
        small(),
        f"deep-{encoder_layers}-{decoder_layers}",
        tokens={"sampling": 0.0},
        batching={"tokens": 8192},
        model={**layers, "dropout": 0.1, "positions": "rotary"},
        training={"optimizer": "muon", "learning_rate": 3e-3, "warmup": 500},
    )


def deep_6_1() -> RunConfig:
    """Kasai et al. 2021, "Deep Encoder, Shallow Decoder", at d=256: six layers and one, the fastest of the three."""
    return _deep(6, 1)


def deep_6_2() -> RunConfig:
    """Kasai et al. 2021, "Deep Encoder, Shallow Decoder", at d=256: six layers and two, as the bundled model has."""
    return _deep(6, 2)


def deep_8_1() -> RunConfig:
    """Kasai et al. 2021, "Deep Encoder, Shallow Decoder", at d=256: eight layers and one."""
    return _deep(8, 1)


def ssru_6_2() -> RunConfig:
    """Kim et al. 2019, "From Research to Production and Back", at d=256: `deep-6-2` with a recurrent unit
    (SSRU) in place of the decoder's self-attention."""
    return _changed(deep_6_2(), "ssru-6-2", model={"decoder_autoreg": "ssru"})


def demo() -> RunConfig:
    """Learns a phrase grammar in two minutes on two cores; no paper, for demonstration."""
    return RunConfig(
        recipe="demo",
        tokens=TokensConfig(kind="bpe", vocabulary_size=None, joint=True),
        batching=BatchingConfig(tokens=4096),
        model=TransformerConfig(
            encoder_layers=2, decoder_layers=2, d_model=128, heads=4, d_ff=512, dropout=0.1, norm="pre"
        ),
        training=TrainingConfig(
            max_minutes=2,
            fit_to_budget=True,
            optimizer="muon",
            schedule="cosine",
            learning_rate=3e-3,
            warmup=50,
            validate_every=200,
            checkpoint_every=400,
            bleu_sentences=200,
            average=1,
            log_every=50,
        ),
    )


_TRAINING = TrainingConfig(
    schedule="inverse_sqrt",
    learning_rate=1e-3,
    warmup=500,
    beta2=0.98,
    label_smoothing=0.1,
    clip_norm=1.0,
    validate_epochs=1.5,
    checkpoint_every=500,
    average=8,
)
_DECODING = DecodingConfig(beam_size=5, length_penalty=1.0)


def _recipe(name: str, model: RecurrentConfig) -> RunConfig:
    return RunConfig(
        recipe=name,
        tokens=TokensConfig(kind="bpe", joint=True, sampling=0.05),
        batching=BatchingConfig(tokens=4096),
        model=model,
        training=_TRAINING,
        decoding=_DECODING,
    )


def seq2seq() -> RunConfig:
    """No attention: the whole source in one vector (Cho et al. 2014; Sutskever et al. 2014)."""
    return _recipe("seq2seq", RecurrentConfig(cell="gru", wiring="fixed", dropout=0.3))


def bahdanau() -> RunConfig:
    """Additive attention whose context is an input of a GRU (Bahdanau et al. 2015, section 3 and appendix A)."""
    return _recipe("bahdanau", RecurrentConfig(cell="gru", wiring="bahdanau", score="additive", dropout=0.3))


def luong() -> RunConfig:
    """Multiplicative attention on an LSTM's output, with input feeding (Luong et al. 2015, section 3)."""
    return _recipe("luong", RecurrentConfig(cell="lstm", wiring="luong", score="general", dropout=0.3))


def gpt_tiny() -> RunConfig:
    """nanoGPT's setting for a CPU (Karpathy 2022): 4 layers, 4 heads, d=128, characters, blocks of 64, 12 of them in a
    batch, 2,000 updates, no dropout. The learning rate is twice as high, which was measured to be better."""
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
    budget = {"max_steps": None, "max_minutes": 15, "fit_to_budget": True}
    return _changed(
        gpt_tiny(),
        "gpt-small",
        batching={"tokens": 1536, "block": 256},
        model={"d_model": 192, "d_ff": 768, "dropout": 0.1, "positions": "rotary", "max_positions": 512},
        training={**budget, "optimizer": "muon", "learning_rate": 3e-3},
    )


def lstm_tiny() -> RunConfig:
    """A recurrent counterpart of `gpt-tiny`: two LSTM layers with as many weights, the state carried from block to
    block (Karpathy 2015; Mikolov et al. 2010)."""
    model = RecurrentLanguageModelConfig(cell="lstm", layers=2, embedding=128, hidden=232, dropout=0.0)
    return _changed(gpt_tiny(), "lstm-tiny", model=model, training={"weight_decay": 0.0})


def bert_tiny() -> RunConfig:
    """Devlin et al. 2019 in the size of BERT-Tiny (Turc et al. 2019, table 1): 2 layers, 2 heads, d=128; 15 % of the
    tokens masked, GELU, dropout 0.1, weight decay 0.01.

    Our own choices are pre-norm, sinusoids and a high learning rate, for minutes instead of days, and one line per row.
    """
    return RunConfig(
        recipe="bert-tiny",
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
    """The encoder of `bert-tiny` as a classifier; no paper, our own for some thousand texts.

    It can be initialized from a `bert-tiny` (`--from`). Small batches, and a learning rate that falls over a few
    epochs, as labels are soon overfitted.
    """
    return _changed(
        bert_tiny(),
        "classifier",
        batching={"tokens": 2048},
        training={"max_minutes": 5, "warmup": 100, "validate_epochs": 1.0, "best_by": "macro_f1"},
    )


RATE, REPLAYING_RATE, RATE_WIDTH = 3e-4, 1e-4, 256
"""Learning rate of a model of this width, and of one that replays general text. For others it is inversely
proportional to the width, as for hidden weights under Adam (Yang et al. 2022, "Tensor Programs V", table 3)."""

MAX_RATE = 1e-3


def finetune(parent: RunConfig | None = None) -> RunConfig:
    """The model, vocabulary and search settings of `parent` with a small learning rate; no paper, measured on captions
    (docs/own-text.md). A translation model replays general text.

    Without a parent the model is the base of Vaswani et al. 2017, which fits few models: the command line always passes
    the one of `--from`.
    """
    parent = parent or RunConfig()
    learns_from = parent.model.learns_from
    translates = "pairs" in learns_from
    tokens = parent.batching.tokens * parent.training.accumulate
    rate = (REPLAYING_RATE if translates else RATE) * RATE_WIDTH / parent.model.width
    return RunConfig(
        recipe="finetune",
        tokens=parent.tokens,
        data=DataConfig(replay=1.0 if translates else 0.0),
        batching=parent.batching.model_copy(update={"tokens": min(tokens, 1024 if translates else 4096)}),
        model=parent.model,
        training=TrainingConfig(
            schedule="inverse_sqrt",
            learning_rate=min(MAX_RATE, float(f"{rate:.2g}")),
            warmup=100,
            label_smoothing=0.1 if translates else 0.0,
            validate_every=50 if translates else 100,
            checkpoint_every=100 if translates else 500,
            bleu_sentences=250 if translates else 0,
            best_by="bleu" if translates else "macro_f1" if "labels" in learns_from else "loss",
            patience=4 if translates else 10,
            average=1,
        ),
        decoding=parent.decoding,
    )
