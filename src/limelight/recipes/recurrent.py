"""The recurrent encoder-decoders, in the order the field found them; sized for a CPU, the wiring as published."""

from limelight.config import BatchingConfig, DecodingConfig, RecurrentConfig, RunConfig, TokensConfig, TrainingConfig

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
    """Additive attention, the context enters a GRU (Bahdanau et al. 2015, section 3 and appendix A)."""
    return _recipe("bahdanau", RecurrentConfig(cell="gru", wiring="bahdanau", score="additive", dropout=0.3))


def luong() -> RunConfig:
    """Multiplicative attention on an LSTM's output, with input feeding (Luong et al. 2015, section 3)."""
    return _recipe("luong", RecurrentConfig(cell="lstm", wiring="luong", score="general", dropout=0.3))
