"""Import and export of Marian models in the format of transformers (`MarianMTModel`), without transformers.

config.json  generation_config.json  model.safetensors  source.spm  target.spm  vocab.json  tokenizer_config.json
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from limelight import __version__
from limelight.config import TransformerConfig, has_tags
from limelight.errors import UserError
from limelight.files import write_folder, writing
from limelight.interop.folders import (
    NOTHING_LEFT,
    exported_card,
    imported_card,
    read_json,
    require_new,
    write_json,
)
from limelight.interop.marian import (
    MAX_POSITIONS,
    MarianConfig,
    Side,
    from_marian,
    imported_run,
    pieces_of,
    read_tokenizers,
    refused_by_marian,
    refused_tokenizers,
    to_marian,
    write_tokenizers,
)
from limelight.interop.names import OUTPUT_BIAS, Row, marian_copies, marian_rows, refuse, require_complete
from limelight.layers.embedding import sinusoids
from limelight.models.families import build_model
from limelight.storage.layout import CARD
from limelight.storage.model import StoredModel, save_model
from limelight.storage.weights import named_weights, put_weights, read_weights, require_fit, save_weights
from limelight.tokens import END, Tokenizers

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
BIAS = "final_logits_bias"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
NEVER = -1e4
"""Added to the logits of classes that are never predicted: low enough for probability 0, representable in fp16."""

_USE = """\
```python
from transformers import MarianMTModel, MarianTokenizer

model, tokenizer = MarianMTModel.from_pretrained("FOLDER"), MarianTokenizer.from_pretrained("FOLDER")
ids = model.generate(**tokenizer(["A sentence."], return_tensors="pt", padding=True))
print(tokenizer.batch_decode(ids, skip_special_tokens=True))
```
"""


def export_huggingface(stored: StoredModel, folder: Path) -> None:
    """Write a model as a Marian model for transformers. It is equivalent up to rounding.

    Raises `UserError` with all reasons if the model is not supported, and if the folder exists; `RunError` if it cannot
    be written, and then nothing is left there.
    """
    require_new(folder)
    config = stored.config.model
    reasons = [*refused_by_marian(config), *refused_tokenizers(stored.tokenizers)]
    if has_tags(stored.config.data):
        reasons.append("it translates in several directions, and Marian's tokenizer has no tags for them")
    refuse(reasons, f"{stored.folder}: this model cannot be exported as a Marian model")
    assert isinstance(config, TransformerConfig)
    source, target = pieces_of(stored.tokenizers)
    weights = named_weights(stored.model)
    bias = weights.pop(OUTPUT_BIAS, torch.zeros(stored.tokenizers.target.padding))
    weights = _to_theirs(weights, config, size=len(target))
    weights[BIAS] = functional.pad(bias, (0, len(target) - len(bias)), value=NEVER)[None]

    def fill(partial: Path) -> None:
        values = to_marian(config, source_size=len(source), target_size=len(target))
        write_json(partial / CONFIG, values)
        special = {name: values[name] for name in values if name.endswith("token_id")}
        beam = stored.config.decoding.beam_size
        write_json(partial / "generation_config.json", {**special, "num_beams": beam, "max_length": MAX_POSITIONS})
        write_tokenizers(stored.tokenizers, partial)
        save_weights(partial / WEIGHTS, weights)
        card = exported_card(stored, "A Marian model for transformers", _USE)
        (partial / CARD).write_text(card, encoding="utf-8")

    with writing(folder, NOTHING_LEFT):
        write_folder(folder, fill)


def _to_theirs(weights: Mapping[str, Tensor], config: TransformerConfig, *, size: int) -> dict[str, Tensor]:
    """Our tensors under Marian's names, with `size` tokens on both sides and sines before cosines."""
    rows = marian_rows(config)
    require_complete(weights, [row.ours for row in rows], "the model")
    order = _sines_first(config)
    return {row.theirs: _filled(_permuted(weights[row.ours], row, order), row, size) for row in rows}


def _sines_first(config: TransformerConfig) -> Tensor:
    """The index of our feature at each position of theirs: interleaved sinusoids alternate sines and cosines."""
    features = torch.arange(config.d_model)
    return torch.cat([features[0::2], features[1::2]]) if config.sinusoid_layout == "interleaved" else features


def _permuted(tensor: Tensor, row: Row, order: Tensor) -> Tensor:
    return tensor if row.width_axis is None else tensor.index_select(row.width_axis, order)


def _filled(tensor: Tensor, row: Row, size: int) -> Tensor:
    """Add rows of zeros for the additional tokens of the other side; padding, if it has a row, stays last."""
    if not row.vocabulary:
        return tensor
    zeros = tensor.new_zeros(size - len(tensor), tensor.shape[1])
    last = len(tensor) if row.vocabulary == "output" else len(tensor) - 1
    return torch.cat([tensor[:last], zeros, tensor[last:]])


def import_huggingface(folder: Path, out: Path) -> None:
    """Write the Marian model in `folder` as a model folder of Limelight. It is equivalent up to rounding.

    Raises `UserError` for missing, damaged and unsupported files, with all reasons, and if `out` exists; `RunError` if
    it cannot be written, and then nothing is left there.
    """
    require_new(out)
    _require_weights(folder)
    path = folder / WEIGHTS
    marian = from_marian(read_json(folder / CONFIG), folder / CONFIG)
    source, target = read_tokenizers(folder, start=marian.start)
    _require_same(folder / CONFIG, marian, source, target)
    tokenizers = Tokenizers(source.tokenizer, target.tokenizer)
    weights = _to_ours(read_weights(path)[0], marian.model, source, target, path)
    config = marian.model.model_copy(update={"output_bias": OUTPUT_BIAS in weights})
    with torch.device("meta"):  # a configuration with wrong sizes must not allocate memory
        shapes = build_model(config, tokenizers)
    require_fit(shapes, weights, where=str(path))
    model = build_model(config, tokenizers)
    put_weights(model, weights, where=str(path))
    run = imported_run(config, kind=target.kind, joint=source is target)
    notes = {"made_from": f"imported from {folder.resolve().name} by limelight {__version__}"}
    card = imported_card(folder, notes["made_from"])
    with writing(out, NOTHING_LEFT):
        write_folder(out, lambda partial: save_model(partial, model, tokenizers, run, notes=notes, card=card))


def _require_weights(folder: Path) -> None:
    """Raise `UserError` if there are no weights in a supported format."""
    if (folder / WEIGHTS).is_file():
        return
    if not (folder / CONFIG).is_file():
        raise UserError(f"{folder}: not the folder of a Marian model: it holds no {CONFIG} and no {WEIGHTS}")
    others = [path.name for path in sorted(folder.glob("*.bin")) + sorted(folder.glob("*.safetensors*"))]
    if "pytorch_model.bin" in others:
        raise UserError(
            f"{folder}: its weights are a pytorch_model.bin, a pickle, which can run code when it is read. Where you "
            f"trust it, let transformers write {WEIGHTS}: MarianMTModel.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )
    raise UserError(f"{folder}: holds no {WEIGHTS}" + (f", but {', '.join(others[:5])}" if others else ""))


def _require_same(path: Path, marian: MarianConfig, source: Side, target: Side) -> None:
    """Raise `UserError` if configuration and vocabularies do not match."""
    faults = [
        f"{name} is {stated:,}, and the vocabulary of that side has {side.size:,} tokens"
        for name, stated, side in (
            ("vocab_size", marian.source_size, source),
            ("decoder_vocab_size", marian.target_size, target),
        )
        if stated != side.size
    ]
    if not 0 <= marian.start < marian.target_size:
        faults.append(f"decoder_start_token_id={marian.start} is not the id of a token")
    if marian.end != target.theirs[END]:
        faults.append(f"eos_token_id is {marian.end}, and </s> has the id {target.theirs[END]}")
    if marian.model.tie == "three-way" and not Tokenizers(source.tokenizer, target.tokenizer).one_vocabulary:
        faults.append("both sides share their embeddings, but have different vocabularies")
    refuse(faults, str(path))


def _to_ours(
    theirs: Mapping[str, Tensor], config: TransformerConfig, source: Side, target: Side, path: Path
) -> dict[str, Tensor]:
    """Marian's tensors under our names, with rows in the order of our ids; an output bias only if it is not zero."""
    rows = marian_rows(config)
    found = _without_copies(theirs, config, path)
    bias = found.pop(BIAS, torch.zeros(1, target.size)).flatten()
    require_complete(found, [row.theirs for row in rows], str(path))
    if len(bias) != target.size:
        raise UserError(f"{path}: {BIAS} has {len(bias):,} numbers, and there are {target.size:,} tokens")
    ids = {"source": source.theirs, "target": target.theirs, "output": target.theirs[:-1]}
    sizes = {"source": source.size, "target": target.size, "output": target.size}
    wrong = [
        f"{row.theirs} is {tuple(found[row.theirs].shape)}, and there are {sizes[row.vocabulary]} tokens"
        for row in rows
        if row.vocabulary and found[row.theirs].shape[:1] != (sizes[row.vocabulary],)
    ]
    refuse(wrong, str(path))
    weights = {
        row.ours: found[row.theirs][ids[row.vocabulary]] if row.vocabulary else found[row.theirs] for row in rows
    }
    bias = bias[ids["output"]]
    return {**weights, OUTPUT_BIAS: bias} if bias.any() else weights


def _without_copies(theirs: Mapping[str, Tensor], config: TransformerConfig, path: Path) -> dict[str, Tensor]:
    """The tensors without copies and computed tables. Raises `UserError` if those have unexpected values."""
    found = dict(theirs)
    for name, original in marian_copies(config.tie).items():
        if name in found and original in found:
            _require_equal(found.pop(name), found[original], f"{path}: {name} should be the same as {original}")
    for name in POSITIONS:
        if name in found:
            table = found.pop(name)
            expected = sinusoids(len(table) if table.dim() else 0, config.d_model, layout="halves")
            _require_equal(table, expected, f"{path}: {name} should be sinusoids, all sines before all cosines", 5e-3)
    return found


def _require_equal(some: Tensor, other: Tensor, message: str, tolerance: float = 0.0) -> None:
    """`tolerance` allows for tables stored in half precision."""
    if some.shape != other.shape or not torch.allclose(some.float(), other.float(), rtol=0, atol=tolerance):
        raise UserError(f"{message}, and is not")
