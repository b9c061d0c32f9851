"""Export to CTranslate2 with its Python package (the `export` extra), which only this module imports.

model.bin  config.json  shared_vocabulary.json | source_vocabulary.json target_vocabulary.json  source.spm  target.spm
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from limelight.config import ModelConfig, TransformerConfig, directions_of, has_tags
from limelight.errors import UserError
from limelight.files import write_folder, writing
from limelight.interop.folders import NOTHING_LEFT, exported_card, require_new
from limelight.interop.names import CTRANSLATE2, names_in, odd_heads, odd_parts, refuse, to_theirs
from limelight.interop.vocabularies import refused_tokenizers, write_sentencepiece
from limelight.layers.embedding import sinusoids
from limelight.storage.layout import CARD
from limelight.storage.model import StoredModel
from limelight.storage.weights import named_weights
from limelight.tokens.tokenizer import END_PIECE, PADDING_PIECE, UNKNOWN_PIECE

if TYPE_CHECKING:
    from ctranslate2.specs import TransformerSpec

QUANTIZATIONS = (
    "float32", "float16", "bfloat16", "int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16",
)  # fmt: skip
MAX_POSITIONS = 1024
"""Number of positions for a model with sinusoids; by default CTranslate2 truncates longer sources."""
NEVER = -1e4
"""Bias of the padding class, which is never predicted; representable in fp16."""

_TAG = """
This model translates in several directions (DIRECTIONS). Put the tag of the target language before the tokens of a
source: `["<2LANG>", *source.encode("A sentence.", out_type=str)]`.
"""
_USE = """\
```python
import ctranslate2, sentencepiece

translator = ctranslate2.Translator("FOLDER", compute_type="auto")
source = sentencepiece.SentencePieceProcessor(model_file="FOLDER/source.spm")
target = sentencepiece.SentencePieceProcessor(model_file="FOLDER/target.spm")
found = translator.translate_batch([source.encode("A sentence.", out_type=str)], beam_size=4)
print(target.decode(found[0].hypotheses[0]))
```
"""


def export_ctranslate2(stored: StoredModel, folder: Path, *, quantization: str = "float32") -> None:
    """Write a model for CTranslate2. It is equivalent up to rounding in float32, approximately in fewer bits.

    Raises `UserError` with all reasons if the model is not supported, if the package is missing, and if the folder
    exists; `RunError` if it cannot be written, and then nothing is left there.
    """
    require_new(folder)
    config = stored.config.model
    reasons = [*_refused(config), *refused_tokenizers(stored.tokenizers)]
    refuse(reasons, f"{stored.folder}: this model cannot go to CTranslate2")
    assert isinstance(config, TransformerConfig)
    specification = _specify(stored, config)
    specification.validate()
    specification.optimize(quantization=quantization)

    def fill(partial: Path) -> None:
        specification.save(str(partial))
        write_sentencepiece(stored.tokenizers, partial)
        directions = directions_of(stored.config.data)
        use = _USE + (
            _TAG.replace("DIRECTIONS", ", ".join(map(str, directions))) if has_tags(stored.config.data) else ""
        )
        (partial / CARD).write_text(exported_card(stored, "A model for CTranslate2", use), encoding="utf-8")

    with writing(folder, NOTHING_LEFT):
        write_folder(folder, fill)


def _refused(config: ModelConfig) -> Iterator[str]:
    if not isinstance(config, TransformerConfig):
        yield f"model.family={config.family}: CTranslate2 runs Transformers, and no other format takes this one"
        return
    if config.score != "scaled_dot":
        yield f"model.score={config.score}: its attention is the scaled dot product"
    if config.decoder_autoreg != "self-attention":
        yield f"model.decoder_autoreg={config.decoder_autoreg}: its decoders have self-attention"
    if config.positions not in ("sinusoidal", "learned", "rotary"):
        yield f"model.positions={config.positions}: its models have sinusoids, learned or rotary positions"
    for setting in odd_parts(config):
        yield f"{setting}: only Limelight has models with this part"
    for setting in odd_heads(config):
        yield f"{setting}: its heads share the width among them"


def _specify(stored: StoredModel, config: TransformerConfig) -> TransformerSpec:
    """The model as a CTranslate2 specification."""
    try:
        from ctranslate2.specs import TransformerSpec, common_spec, model_spec, transformer_spec
    except ImportError:
        raise UserError(
            "this needs CTranslate2's Python package: pip install 'limelight[export]' (or ctranslate2)"
        ) from None
    activations = {
        "relu": common_spec.Activation.RELU,
        "gelu": common_spec.Activation.GELU,
        "swish": common_spec.Activation.SWISH,
    }
    shared = {
        "num_heads": config.heads,
        "pre_norm": config.norm == "pre",
        "activation": activations[config.activation],
        "rotary_dim": 0 if config.positions == "rotary" else None,  # 0: the whole head; interleaved pairs
    }
    specification = TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.encoder_layers, **shared),
        transformer_spec.TransformerDecoderSpec(config.decoder_layers, **shared),
    )
    for place, tensor in _variables(named_weights(stored.model), config).items():
        scope, _, name = place.rpartition("/")
        setattr(model_spec.index_spec(specification, scope), name, tensor.contiguous().numpy())
    specification.encoder.scale_embeddings = specification.decoder.scale_embeddings = config.d_model**0.5
    source, target = stored.tokenizers
    specification.register_source_vocabulary(source.pieces(range(source.size)))
    specification.register_target_vocabulary(target.pieces(range(target.size)))
    _configure(specification.config)
    return specification


def _configure(config: Any) -> None:
    """The end token is appended to sources; the decoder starts from padding."""
    config.bos_token = config.eos_token = END_PIECE
    config.unk_token = UNKNOWN_PIECE
    config.decoder_start_token = PADDING_PIECE
    config.add_source_eos = True
    config.layer_norm_epsilon = torch.nn.LayerNorm(1).eps


def _variables(weights: Mapping[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    """Every variable by its path in the specification. Padding is a class there, which gets a large negative bias."""
    variables = to_theirs(weights, names_in(CTRANSLATE2, config), "the model")
    if config.positions == "sinusoidal":
        table = sinusoids(MAX_POSITIONS, config.d_model, layout=config.sinusoid_layout)
        variables |= {f"{side}/position_encodings/encodings": table for side in ("encoder", "decoder")}
    projection = variables["decoder/projection/weight"]
    size = len(variables["decoder/embeddings/weight"])
    if len(projection) < size:
        padding = projection.new_zeros(size - len(projection), projection.shape[1])
        variables["decoder/projection/weight"] = torch.cat([projection, padding])
    bias = variables.get("decoder/projection/bias", torch.zeros(size - 1))
    variables["decoder/projection/bias"] = torch.cat([bias, torch.tensor([NEVER])])
    return variables
