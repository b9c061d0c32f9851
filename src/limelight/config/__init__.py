"""The whole run as one frozen, typed record; strict overrides; errors that name near keys."""

from limelight.config.augmentation import AugmentationConfig
from limelight.config.directions import (
    UNNAMED,
    Direction,
    check_directions,
    direction_of,
    directions_of,
    find_direction,
    fitting_directions,
    known_languages,
    require_not_reversed,
    require_one_direction,
)
from limelight.config.files import config_from, dump_config, known_keys, load_config, override, save_config
from limelight.config.models import (
    DecoderOnlyConfig,
    EncoderOnlyConfig,
    ModelConfig,
    RecurrentConfig,
    RecurrentLanguageModelConfig,
    TransformerConfig,
)
from limelight.config.run import (
    MAX_LENGTH_PENALTY,
    BatchingConfig,
    Corpus,
    DataConfig,
    DecodingConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
)

__all__ = [
    "MAX_LENGTH_PENALTY",
    "UNNAMED",
    "AugmentationConfig",
    "BatchingConfig",
    "Corpus",
    "DataConfig",
    "DecoderOnlyConfig",
    "DecodingConfig",
    "Direction",
    "EncoderOnlyConfig",
    "ModelConfig",
    "RecurrentConfig",
    "RecurrentLanguageModelConfig",
    "RunConfig",
    "TokensConfig",
    "TrainingConfig",
    "TransformerConfig",
    "check_directions",
    "config_from",
    "direction_of",
    "directions_of",
    "dump_config",
    "find_direction",
    "fitting_directions",
    "known_keys",
    "known_languages",
    "load_config",
    "override",
    "require_not_reversed",
    "require_one_direction",
    "save_config",
]
