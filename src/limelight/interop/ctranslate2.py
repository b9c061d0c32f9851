"""Export to CTranslate2 with its Python package (the `export` extra), which only this module imports, and to Argos
packages, which contain such a folder.

model.bin  config.json  shared_vocabulary.json | source_vocabulary.json target_vocabulary.json  source.spm  target.spm
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from limelight.config import TransformerConfig, directions_of, has_tags
from limelight.errors import UserError
from limelight.files import fill_file, require_new, writing
from limelight.interop.ctranslate2_reader import ARGOS_MODEL, CONFIG, METADATA, MODEL
from limelight.interop.folders import NOTHING_LEFT, exported_card, new_folder
from limelight.interop.names import CTRANSLATE2, lacking, names_in, refuse, to_theirs, with_padding
from limelight.interop.vocabularies import refused_tokenizers, sentencepiece_of, write_sentencepiece
from limelight.layers.embedding import sinusoids
from limelight.storage.layout import CARD
from limelight.storage.model import StoredModel
from limelight.storage.weights import named_weights
from limelight.tokens.tokenizer import END_PIECE, PADDING_PIECE, UNKNOWN_PIECE

if TYPE_CHECKING:
    from ctranslate2.specs import TransformerSpec

MAX_POSITIONS = 1024
"""Number of positions for a model with sinusoids; by default CTranslate2 truncates longer sources."""

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


_ARGOS_USE = 'Install it in Python: `argostranslate.package.install_from_path("FILE")`.\n'


def export_ctranslate2(stored: StoredModel, folder: Path, *, quantization: str = "float32") -> None:
    """Write a model for CTranslate2. It is equivalent up to rounding in float32, approximately in fewer bits.

    Raises `UserError` with all reasons if the model is not supported, if the package is missing, and if the folder
    exists; `RunError` if it cannot be written, and then nothing is left there.
    """
    require_new(folder)
    config = stored.config.model
    reasons = [*lacking(config, {"positions": ["sinusoidal", "learned", "rotary"]})]
    if stored.config.data.language_tokens == "both":
        reasons.append("it is M2M100 or NLLB, whose language tokens an export leaves out: convert the original")
    refuse([*reasons, *refused_tokenizers(stored.tokenizers)], f"{stored.folder}: this model cannot go to CTranslate2")
    assert isinstance(config, TransformerConfig)
    specification = _specify(stored, config)
    specification.validate()
    specification.optimize(quantization=quantization)
    directions = ", ".join(map(str, directions_of(stored.config.data)))
    use = _USE + (_TAG.replace("DIRECTIONS", directions) if has_tags(stored.config.data) else "")

    with new_folder(folder) as partial:
        specification.save(str(partial))
        write_sentencepiece(stored.tokenizers, partial)
        (partial / CARD).write_text(exported_card(stored, "A model for CTranslate2", use), encoding="utf-8")


def _specify(stored: StoredModel, config: TransformerConfig) -> TransformerSpec:
    """The model as a CTranslate2 specification."""
    try:
        from ctranslate2.specs import TransformerSpec, common_spec, model_spec, transformer_spec
    except ImportError:
        raise UserError(
            "this needs CTranslate2's Python package: pip install 'limelight[export]' (or ctranslate2)"
        ) from None
    shared = {
        "num_heads": config.heads,
        "pre_norm": config.norm == "pre",
        "activation": common_spec.Activation[config.activation.upper()],
        "rotary_dim": 0 if config.positions == "rotary" else None,  # 0: the whole head; interleaved pairs
    }
    specification = TransformerSpec(
        transformer_spec.TransformerEncoderSpec(config.encoder_layers, **shared),
        transformer_spec.TransformerDecoderSpec(config.decoder_layers, **shared),
    )
    variables = to_theirs(with_padding(named_weights(stored.model)), names_in(CTRANSLATE2, config))
    if config.positions == "sinusoidal":
        table = sinusoids(torch.arange(MAX_POSITIONS), config.d_model, layout=config.sinusoid_layout)
        variables |= {f"{side}/position_encodings/encodings": table for side in ("encoder", "decoder")}
    for variable, tensor in variables.items():
        scope, _, name = variable.rpartition("/")
        setattr(model_spec.index_spec(specification, scope), name, tensor.contiguous().numpy())
    specification.encoder.scale_embeddings = specification.decoder.scale_embeddings = config.d_model**0.5
    source, target = stored.tokenizers
    specification.register_source_vocabulary(source.pieces(range(source.size)))
    specification.register_target_vocabulary(target.pieces(range(target.size)))
    settings = specification.config
    settings.bos_token = settings.eos_token = END_PIECE
    settings.unk_token = UNKNOWN_PIECE
    settings.decoder_start_token = PADDING_PIECE
    settings.add_source_eos = True
    settings.layer_norm_epsilon = torch.nn.LayerNorm(1).eps
    return specification


def export_argos(stored: StoredModel, path: Path, *, quantization: str = "float32") -> None:
    """Write a model as a package that Argos Translate and LibreTranslate install: a zip archive with metadata, one
    sentencepiece model, and a CTranslate2 folder.

    Raises `UserError` with all reasons if the model is not supported, and if the file exists; `RunError` if it cannot
    be written, and then nothing is left there.
    """
    require_new(path)
    directions = [direction for direction in directions_of(stored.config.data) if direction.languages[0]]
    reasons = [*refused_tokenizers(stored.tokenizers)]
    models = {sentencepiece_of(tokenizer) for tokenizer in stored.tokenizers} if not reasons else set()
    if len(models) > 1:
        reasons.append("a package has one sentencepiece model, and each side of this model has its own")
    if len(directions) != 1:
        reasons.append(f"a package translates in one named direction, and this model has {len(directions)}")
    refuse(reasons, f"{stored.folder}: this model cannot be an Argos package")
    [(source, target)], [model] = directions, models
    metadata = {
        "package_version": "1.0",
        "argos_version": "1.9.0",
        "from_code": source,
        "from_name": source,
        "to_code": target,
        "to_name": target,
    }
    folder = f"translate-{source}_{target}-1_0"
    with tempfile.TemporaryDirectory() as temporary:
        converted = Path(temporary) / "model"
        export_ctranslate2(stored, converted, quantization=quantization)

        card = exported_card(stored, "A model as an Argos package", _ARGOS_USE)
        files = {METADATA: json.dumps(metadata).encode(), CARD: card.encode(), ARGOS_MODEL: model}
        for file in (converted / MODEL, converted / CONFIG, *sorted(converted.glob("*_vocabulary.json"))):
            files[f"model/{file.name}"] = file.read_bytes()

        def fill(partial: Path) -> None:
            with zipfile.ZipFile(partial, "w") as archive:
                for name, content in files.items():
                    entry = zipfile.ZipInfo(f"{folder}/{name}")  # without a time: the same model has the same bytes
                    entry.external_attr = 0o644 << 16
                    archive.writestr(entry, content, zipfile.ZIP_DEFLATED)

        with writing(path, NOTHING_LEFT):
            fill_file(path, fill)
