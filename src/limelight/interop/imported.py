"""What readers of other formats return, and how it becomes a model folder of ours."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from limelight import __version__
from limelight.config import Direction, TransformerConfig, config_from
from limelight.interop.folders import fill_model, require_new, write_new
from limelight.interop.names import OUTPUT_BIAS
from limelight.interop.vocabularies import Side
from limelight.models.families import build_model
from limelight.storage.layout import SHORTLIST
from limelight.storage.tables import Shortlist, save_shortlist
from limelight.storage.weights import SCALE, is_scale, require_finite, require_fit
from limelight.tokens import Tokenizers
from limelight.tokens.stored import KINDS


@dataclass(frozen=True)
class Imported:
    """A model as a reader found it.

    Attributes:
        what: the format, in words.
        model: the configuration that describes the weights.
        source: the vocabulary of the source; the same object as `target` if both are equal.
        weights: under our names; int8 matrices with scales. An output bias of zeros is left out.
        where: the file of the weights, for messages.
        directions: as far as the files name languages.
        card: the model card that came with it.
        shortlist: likely target tokens of each source token, if it has such a table.
        language_tokens: which sides name languages, see `DataConfig`.
    """

    what: str
    model: TransformerConfig
    source: Side
    target: Side
    weights: Mapping[str, Tensor]
    where: str
    directions: tuple[Direction, ...] = ()
    card: str = ""
    shortlist: Shortlist | None = None
    language_tokens: Literal["target", "both"] = "target"


def write_imported(imported: Imported, out: Path, origin: str) -> None:
    """Write a model folder.

    Raises `UserError` if the weights do not fit the configuration or are not finite, and if `out` exists; `RunError` if
    it cannot be written, and then nothing is left there.
    """
    require_new(out)
    tokenizers = Tokenizers(imported.source.tokenizer, imported.target.tokenizer)
    weights = {
        name: tensor if tensor.dtype == torch.int8 and name + SCALE in imported.weights else tensor.float()
        for name, tensor in imported.weights.items()
    }
    has_bias = OUTPUT_BIAS in weights and bool(weights[OUTPUT_BIAS].any())
    if not has_bias:
        weights.pop(OUTPUT_BIAS, None)
    model = imported.model.model_copy(update={"output_bias": has_bias})
    with torch.device("meta"):  # a configuration with wrong sizes must not allocate memory
        shapes = build_model(model, tokenizers)
        expanded = {
            name: torch.empty(tensor.shape) if tensor.dtype == torch.int8 else tensor
            for name, tensor in weights.items()
            if not is_scale(name, weights)
        }
    require_fit(shapes, expanded, where=imported.where)
    require_finite({name: tensor for name, tensor in weights.items() if tensor.dtype != torch.int8}, imported.where)
    kind = {"kind": imported.target.kind} if imported.target.kind in KINDS else {}
    config = config_from(
        {
            "recipe": "imported",
            "model": model.model_dump(),
            "tokens": {"joint": imported.source is imported.target, **kind},
            "data": {"inherited": imported.directions, "language_tokens": imported.language_tokens},
            "weights": "int8" if len(expanded) < len(weights) else "fp32",
        }
    )
    made_from = f"imported from {origin}, {imported.what}, by limelight {__version__}"
    card = (
        f"# {origin}: {made_from}\n\n"
        'Use it with `limelight translate --model FOLDER`, or `limelight.load("FOLDER").translate(text)`.\n'
        f"What follows is the page that came with it.\n\n---\n\n{imported.card}"
    )
    notes = {"made_from": made_from}

    def fill(partial: Path) -> None:
        fill_model(partial, weights, tokenizers, config, notes, card)
        if imported.shortlist is not None:
            save_shortlist(partial / SHORTLIST, imported.shortlist, tokenizers)

    write_new(out, fill)
